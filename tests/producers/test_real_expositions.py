"""What prometheus_client and Prometheus itself give is read back sample by sample."""

import json
import math
import os
import threading
import time
import urllib.parse
import urllib.request
from collections import Counter as Count
from collections.abc import Iterable
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import polars as pl
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Enum,
    Gauge,
    Histogram,
    Info,
    Summary,
    generate_latest,
    make_wsgi_app,
)
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from tracemortem.sources.find import Found, survey
from tracemortem.sources.registry import read

Sample = tuple[str, frozenset[tuple[str, str]], str]
HELD_BACK = {"job", "instance"}  # labels that Prometheus adds


def registry() -> CollectorRegistry:
    """One metric of each type, with labels that need escaping."""
    made = CollectorRegistry()
    odd = 'say "hi"\\ \n{a="b"} é模 # 1'
    Gauge("vllm:kv_cache_usage_perc", "share of blocks", ["model_name"], registry=made).labels(odd).set(0.75)
    Gauge("odd_value", "not a number", registry=made).set(math.nan)
    Gauge("large", "infinite", registry=made).set(math.inf)
    Counter("vllm:prompt_tokens", "tokens\nof prompts", ["engine"], registry=made).labels("0").inc(1e17)
    latency = Histogram("ttft_seconds", "s", buckets=(0.1, 1.0), registry=made)
    for seconds in (0.05, 0.5, 5.0):
        latency.observe(seconds)
    Summary("size_bytes", "B", registry=made).observe(3)
    Info("build", "what it is", registry=made).info({"version": "1.0"})
    Enum("state", "on or off", states=["on", "off"], registry=made).state("off")
    return made


def given(made: CollectorRegistry) -> Count[Sample]:
    """The samples that a registry holds."""
    return Count(
        (sample.name, frozenset(pair for pair in sample.labels.items() if pair[1]), shown(sample.value))
        for family in made.collect()
        for sample in family.samples
    )


def shown(value: float | None) -> str:
    """A value as text; what is no number is null to us."""
    return repr(None if value is None or math.isnan(value) else float(value))


def read_back(found: Found, without: Iterable[str] = ()) -> pl.DataFrame:
    """name, labels, value and at of each sample; no reject is among them."""
    batches = list(read(found))
    assert [batch.rejects.to_dicts() for batch in batches if batch.rejects.height] == []
    series = pl.concat(batch.rows["series"] for batch in batches)
    samples = pl.concat(batch.rows["sample"] for batch in batches)
    rows = [
        (
            row["name"],
            frozenset((one["key"], one["value"]) for one in row["labels"] if one["key"] not in without),
            shown(row["value"]),
            row["at"],
        )
        for row in samples.join(series, on="series_no").iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=["name", "labels", "value", "at"], orient="row", strict=False)


def counted(frame: pl.DataFrame) -> Count[Sample]:
    """The samples of a frame without their times."""
    return Count(frame.select("name", "labels", "value").rows())


def escaped(samples: Count[Sample]) -> Count[Sample]:
    """The same as prometheus_client gives them in OpenMetrics, where it takes colons out of names."""
    return Count({(name.replace(":", "_"), *rest): count for (name, *rest), count in samples.items()})


def test_an_exposition_as_text_holds_the_samples_of_the_registry(tmp_path: Path):
    made = registry()
    (tmp_path / "metrics").write_bytes(generate_latest(made))
    (found,) = survey([str(tmp_path / "metrics")])
    assert (found.format, counted(read_back(found))) == ("prometheus_text", given(made))


def test_an_exposition_as_openmetrics_holds_the_samples_of_the_registry(tmp_path: Path):
    made = registry()
    (tmp_path / "metrics").write_bytes(generate_openmetrics(made))
    (found,) = survey([str(tmp_path / "metrics")])
    assert (found.format, counted(read_back(found))) == ("prometheus_text", escaped(given(made)))


def test_a_dump_of_a_block_holds_the_samples_that_it_was_made_from(tmp_path: Path, promtool):
    start = 1_770_116_400
    lines, expected = ["# TYPE g gauge"], {}
    for number in range(200):
        at, value = start + 15 * number, number / 7
        lines.append(f'g{{gpu="{number % 4}",text="a\\"b\\\\c é"}} {value!r} {at}')
        expected[at, str(number % 4)] = value
    (tmp_path / "in.om").write_text("\n".join([*lines, "# EOF", ""]), encoding="utf-8")
    promtool("tsdb", "create-blocks-from", "openmetrics", "in.om", "blocks")
    (tmp_path / "blocks" / "wal").mkdir(exist_ok=True)  # without one, some versions dump nothing
    (tmp_path / "dump.txt").write_bytes(promtool("tsdb", "dump", "blocks"))
    (found,) = survey([str(tmp_path / "dump.txt")])
    assert found.format == "tsdb_dump"
    got = read_back(found)
    assert {
        (row["at"].timestamp(), dict(row["labels"])["gpu"]): float(row["value"])
        for row in got.iter_rows(named=True)
    } == expected
    assert {dict(labels)["text"] for labels in got["labels"]} == {'a"b\\c é'}


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_an_answer_of_prometheus_holds_what_it_scraped(tmp_path: Path, started, port, wait):
    made = registry()
    with make_server("127.0.0.1", 0, make_wsgi_app(made), handler_class=_Quiet) as exporter:
        thread = threading.Thread(target=exporter.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            listens = port()
            (tmp_path / "prometheus.yml").write_text(
                "global: {scrape_interval: 500ms}\n"
                "scrape_configs:\n"
                "- job_name: llm\n"
                f"  static_configs: [{{targets: ['127.0.0.1:{exporter.server_port}']}}]\n"
            )
            began = time.time()
            started(
                "prometheus",
                f"--config.file={tmp_path}/prometheus.yml",
                f"--storage.tsdb.path={tmp_path}/data",
                f"--web.listen-address=127.0.0.1:{listens}",
                listens=listens,
                env={**os.environ, "GOMAXPROCS": "1"},
            )

            def answer(query: str) -> bytes:
                now = time.time()
                asked = urllib.parse.urlencode({"query": query, "start": began, "end": now, "step": 1})
                url = f"http://127.0.0.1:{listens}/api/v1/query_range?{asked}"
                with urllib.request.urlopen(url, timeout=10) as got:
                    return bytes(got.read())

            def scraped() -> bool:
                try:
                    return bool(json.loads(answer('{job="llm"}'))["data"]["result"])
                except OSError:  # it listens before it is ready
                    return False

            wait(scraped, "Prometheus scraped once")
            path = tmp_path / "answer.json"
            path.write_bytes(answer('{job="llm",__name__!~"scrape_.*|up"}'))
        finally:
            exporter.shutdown()
            thread.join()
    (found,) = survey([str(path)])
    assert found.format == "prometheus_json"
    got = read_back(found, without=HELD_BACK)
    newest = got.group_by("name", "labels").agg(pl.col("value").last())
    assert counted(newest) == escaped(given(made))

"""Real expositions are read as prometheus_client reads them."""

import io
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client import parser as text_parser
from prometheus_client.openmetrics import parser as open_parser

from tracemortem.sources import exposition
from tracemortem.sources.batch import Batch
from tracemortem.sources.clock import Clock

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside this checkout")


def read(path: Path) -> list[Batch]:
    at = Clock(datetime(2026, 2, 3, tzinfo=UTC), 1.0)
    batches = list(exposition.read(io.BytesIO(path.read_bytes()), at))
    assert all(batch.records == batch.stored + batch.rejects.height for batch in batches)
    return batches


def reasons(path: Path) -> list[str]:
    return [reason for batch in read(path) for reason in batch.rejects["reason"]]


def samples(batches: list[Batch]) -> Iterator[tuple[str, dict[str, str], str]]:
    series = {
        row["series_no"]: (row["name"], {label["key"]: label["value"] for label in row["labels"]})
        for batch in batches
        for row in batch.rows["series"].to_dicts()
    }
    for batch in batches:
        for number, value in batch.rows["sample"].select("series_no", "value").iter_rows():
            if series[number][0] != "vllm:cache_config_info":  # gives more samples than were written
                yield (*series[number], repr(value))


@pytest.mark.parametrize(
    "path",
    [
        "prometheus/promtool/metrics-test.prom",
        "prometheus/prometheus-textparse/alltypes.237mfs.prom.txt",
        "prometheus/prometheus-textparse/alltypes.237mfs.nometa.prom.txt",
        "prometheus/prometheus-textparse/1histogram.om.txt",
        "prometheus/prometheus-common/text",
        "llm_metrics/datadog-vllm-v0/vllm_metrics.txt",
        "llm_metrics/sglang-docs/metrics.txt",
    ],
)
def test_samples_are_those_that_prometheus_client_reads(path: str):
    text = (CORPUS / path).read_text()
    parse = open_parser if path.endswith(".om.txt") else text_parser
    expected = [
        (sample.name, {k: v for k, v in sorted(sample.labels.items()) if v}, repr(_none(sample.value)))
        for family in parse.text_string_to_metric_families(text)
        for sample in family.samples
    ]
    assert reasons(CORPUS / path) == []
    assert sorted(samples(read(CORPUS / path)), key=repr) == sorted(
        (one for one in expected if one[0] != "vllm:cache_config_info"), key=repr
    )


def _none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)

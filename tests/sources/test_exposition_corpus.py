"""Real expositions: valid ones are read as prometheus_client reads them, invalid ones are judged."""

import io
import json
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
CASES = CORPUS / "prometheus" / "openmetrics-tests"
NAMES = sorted(path.name for path in CASES.iterdir()) if CASES.is_dir() else []
pytestmark = pytest.mark.skipif(not NAMES, reason="the corpus is not beside this checkout")

# Rules of OpenMetrics that its samples can be read without, and that Prometheus text does not have. What is
# against them is read: people's exporters break them, and nothing would be gained by losing their samples.
TOLERATED = {
    "bad_blank_line": "blank lines are legal in Prometheus text",
    "bad_clashing_names": "metadata says nothing that a sample depends on",
    "bad_counter_values": "a value is kept as written, whatever its type allows",
    "bad_exemplar_complex_chars": "exemplars are not kept",
    "bad_exemplar_timestamp": "exemplars are not kept",
    "bad_exemplars": "exemplars are not kept",
    "bad_exemplars_on_unallowed_metric_types": "exemplars are not kept",
    "bad_exemplars_on_unallowed_samples": "exemplars are not kept",
    "bad_grouping_or_ordering": "files that were put together are in any order",
    "bad_help": "metadata says nothing that a sample depends on",
    "bad_histograms": "a histogram may be saved in part",
    "bad_info_and_stateset_values": "a value is kept as written, whatever its type allows",
    "bad_invalid_labels": "white space may be left out behind a brace",
    "bad_metadata": "other comments are legal in Prometheus text",
    "bad_metadata_in_wrong_place": "files that were put together are in any order",
    "bad_metric_names": "dots are legal in names since Prometheus 3",
    "bad_missing_or_extra_commas": "a comma behind the last label is legal in Prometheus text",
    "bad_missing_or_invalid_labels_for_a_type": "a label is kept as written, whatever the type asks for",
    "bad_no_eof": "Prometheus text has no mark for its end",
    "bad_repeated_metadata": "every scrape of a file repeats it",
    "bad_stateset_info_values": "a value is kept as written, whatever its type allows",
    "bad_text_after_eof": "scrapes stand one after another",
    "bad_type": "metadata says nothing that a sample depends on",
    "bad_unit": "metadata says nothing that a sample depends on",
    "bad_value": "white space is free in Prometheus text",
}


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


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("bad_")])
def test_valid_openmetrics_is_read_whole(name: str):
    assert json.loads((CASES / name / "test.json").read_text())["shouldParse"]
    # one of the timestamps is the year 391 billion
    odd = ["the timestamp is no time: 12345678901234567890.1234567890"]
    assert reasons(CASES / name / "metrics") == (odd if name == "timestamps" else [])


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("bad_")])
def test_invalid_openmetrics_is_rejected_or_breaks_a_rule_that_nothing_depends_on(name: str):
    family = name.rstrip("0123456789").rstrip("_")
    assert reasons(CASES / name / "metrics") or family in TOLERATED


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

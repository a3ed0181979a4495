"""A data point of OTLP is one record: of a gauge or sum one sample, of a histogram several."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tracemortem.sources import otlp
from tracemortem.sources.batch import SAMPLE, SERIES, Batch

NS = 1777142984578685500
AT = datetime(2026, 4, 25, 18, 49, 44, 578685, tzinfo=UTC)
DELTA, CUMULATIVE = {"aggregationTemporality": 1}, {"aggregationTemporality": 2}
STALE = {"flags": 1}


def attributes(labels: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in labels.items()]


def a_point(labels: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    return {"timeUnixNano": str(NS), "attributes": attributes(labels or {}), **fields}


def an_envelope(*metrics: dict[str, Any], scope: str = "app", **resource: str) -> str:
    scope_metrics = [{"scope": {"name": scope}, "metrics": list(metrics)}]
    whose = {"attributes": attributes({key.replace("_", "."): value for key, value in resource.items()})}
    return json.dumps({"resourceMetrics": [{"resource": whose, "scopeMetrics": scope_metrics}]})


def read(*lines: str) -> Batch:
    (batch,) = otlp.read(io.BytesIO("".join(f"{line}\n" for line in lines).encode()))
    assert batch.records == batch.stored + batch.rejects.height
    return batch


def series(kind: str, *points: dict[str, Any], name: str = "m", **told: Any) -> list[dict[str, Any]]:
    line = an_envelope({"name": name, "unit": "s", kind: {"dataPoints": list(points), **told}})
    return read(line).rows["series"].to_dicts()


def samples(batch: Batch) -> list[tuple[str, dict[str, str], float | None]]:
    """(name, labels, value) of each sample."""
    known = {
        one["series_no"]: (one["name"], {label["key"]: label["value"] for label in one["labels"]})
        for one in batch.rows["series"].to_dicts()
    }
    rows = batch.rows["sample"].select("series_no", "value").iter_rows()
    return [(*known[number], value) for number, value in rows]


def values(kind: str, *points: dict[str, Any], **told: Any) -> list[tuple[str, float | None]]:
    line = an_envelope({"name": "m", kind: {"dataPoints": list(points), **told}})
    return [(name + labels.get("le", ""), value) for name, labels, value in samples(read(line))]


def test_the_rows_have_the_declared_columns():
    rows = read(an_envelope({"name": "m", "gauge": {"dataPoints": [a_point(asInt="1")]}})).rows
    assert (rows["series"].schema, rows["sample"].schema) == (SERIES, SAMPLE)


def test_a_file_without_metrics_has_their_tables_empty():
    rows = read('{"resourceMetrics":[]}').rows
    assert (rows["series"].schema, rows["sample"].schema, rows["sample"].height) == (SERIES, SAMPLE, 0)


def test_a_sample_has_its_line_and_time():
    line = an_envelope({"name": "m", "gauge": {"dataPoints": [a_point(asDouble=0.5)]}})
    assert read(line, "", line).rows["sample"].rows() == [(1, 0, AT, 0.5), (3, 0, AT, 0.5)]


@pytest.mark.parametrize(
    ("point", "value"),
    [
        ({"asDouble": 0.25}, 0.25),
        ({"asInt": "-7"}, -7.0),
        ({"asInt": 7}, 7.0),
        ({"asDouble": "NaN"}, None),
        ({"asDouble": "Infinity"}, float("inf")),
        ({"asDouble": 0.25, **STALE}, None),
        (STALE, None),
        ({}, None),
    ],
)
def test_a_value_that_is_not_there_is_null(point, value):
    assert values("gauge", a_point(**point)) == [("m", value)]


def test_a_blank_of_dcgm_is_null():
    line = an_envelope(
        {"name": "DCGM_FI_DEV_GPU_TEMP", "gauge": {"dataPoints": [a_point(asInt=str(2**63 - 16 + 2))]}}
    )
    assert [value for _, _, value in samples(read(line))] == [None]


@pytest.mark.parametrize(
    ("kind", "told", "metric_type", "is_counter"),
    [
        ("gauge", {}, "gauge", False),
        ("sum", {**CUMULATIVE, "isMonotonic": True}, "sum", True),
        ("sum", {**CUMULATIVE, "isMonotonic": False}, "sum", False),
        ("sum", {**CUMULATIVE}, "sum", False),
        ("sum", {**DELTA, "isMonotonic": True}, "delta_sum", False),
        ("sum", {"isMonotonic": True}, "sum", False),
    ],
)
def test_a_sum_is_a_counter_where_it_is_cumulative_and_only_grows(kind, told, metric_type, is_counter):
    (one,) = series(kind, a_point(asInt="1"), **told)
    assert (one["metric_type"], one["is_counter"], one["unit"]) == (metric_type, is_counter, "s")


def test_a_gauge_that_lost_its_type_is_a_counter_by_its_name():
    (one,) = series("gauge", a_point(asInt="1"), name="DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION")
    assert (one["record"], one["field"], one["times"], one["is_counter"]) == (
        "gpu_sample",
        "energy_j",
        0.001,
        True,
    )


@pytest.mark.parametrize("kind", ["histogram", "exponentialHistogram"])
@pytest.mark.parametrize(("told", "is_counter", "prefix"), [(CUMULATIVE, True, ""), (DELTA, False, "delta_")])
def test_count_and_sum_of_a_histogram_are_counters_where_they_are_cumulative(kind, told, is_counter, prefix):
    found = series(kind, a_point(count="3", sum=1.5), **told)
    metric_type = prefix + ("histogram" if kind == "histogram" else "exponential_histogram")
    assert [(one["name"], one["unit"], one["metric_type"], one["is_counter"]) for one in found] == [
        ("m_count", None, metric_type, is_counter),
        ("m_sum", "s", metric_type, is_counter),
    ]


def test_a_histogram_gives_count_sum_and_cumulative_buckets_and_is_one_record():
    point = a_point(count="6", sum=2.5, bucketCounts=["1", "2", "3"], explicitBounds=[0.5, 1])
    line = an_envelope({"name": "m", "histogram": {"dataPoints": [point], **CUMULATIVE}})
    batch = read(line)
    assert (batch.records, batch.stored, samples(batch)) == (
        1,
        1,
        [
            ("m_count", {}, 6.0),
            ("m_sum", {}, 2.5),
            ("m_bucket", {"le": "0.5"}, 1.0),
            ("m_bucket", {"le": "1.0"}, 3.0),
            ("m_bucket", {"le": "+Inf"}, 6.0),
        ],
    )


def test_each_point_of_a_histogram_has_buckets_of_its_own():
    first = a_point({"gpu": "0"}, count="3", bucketCounts=["1", "2"], explicitBounds=[0.5])
    without = a_point({"gpu": "1"}, count="9")
    last = a_point({"gpu": "2"}, count="5", bucketCounts=["4", "0", "1"], explicitBounds=[0.25, 0.5])
    line = an_envelope({"name": "m", "histogram": {"dataPoints": [first, without, last], **CUMULATIVE}})
    buckets = [
        (labels["gpu"], labels["le"], value) for name, labels, value in samples(read(line)) if "le" in labels
    ]
    assert buckets == [
        ("0", "0.5", 1.0),
        ("0", "+Inf", 3.0),
        ("2", "0.25", 4.0),
        ("2", "0.5", 4.0),
        ("2", "+Inf", 5.0),
    ]


def test_a_histogram_without_a_sum_has_no_sample_of_it():
    assert values("histogram", a_point(count="3"), **CUMULATIVE) == [("m_count", 3.0)]


def test_a_count_of_zero_that_was_left_out_is_zero():
    assert values("histogram", a_point(sum=0.0), **CUMULATIVE) == [("m_count", 0.0), ("m_sum", 0.0)]


def test_a_stale_histogram_is_null_in_all_its_parts():
    point = a_point(bucketCounts=["0", "0"], explicitBounds=[1.0], **STALE)
    found = values("histogram", point, **CUMULATIVE)
    assert found == [("m_count", None), ("m_sum", None), ("m_bucket1.0", None), ("m_bucket+Inf", None)]


def test_a_summary_gives_count_and_sum():
    point = a_point(count="4", sum=2.0, quantileValues=[{"quantile": 0.99, "value": 1.0}])
    assert values("summary", point) == [("m_count", 4.0), ("m_sum", 2.0)]
    assert [one["is_counter"] for one in series("summary", point)] == [True, True]


@pytest.mark.parametrize(
    ("kind", "name", "point", "reason"),
    [
        ("gauge", "m", {"timeUnixNano": "0", "asInt": "1"}, "no timeUnixNano"),
        ("gauge", "m", {"timeUnixNano": "x", "asInt": "1"}, "timeUnixNano is no time in nanoseconds: x"),
        ("gauge", "", {"asInt": "1"}, "the metric has no name"),
        (
            "gauge",
            "m",
            {"asInt": "1", "flags": "x"},
            'flags is not an integer, nor a name that OTLP knows: "x"',
        ),
        ("histogram", "m", {"bucketCounts": ["1", "2"]}, "its buckets do not fit explicitBounds"),
        (
            "histogram",
            "m",
            {"bucketCounts": ["1", "2"], "explicitBounds": ["NaN"]},
            "its buckets do not fit explicitBounds",
        ),
    ],
)
def test_a_point_that_cannot_be_stored_is_a_reject_and_its_neighbours_are_not(kind, name, point, reason):
    first, bad, last = a_point({"at": "1"}), a_point({"at": "2"}, **point), a_point({"at": "3"})
    batch = read(
        '{"resourceLogs":[]}',
        an_envelope({"name": "m", kind: {"dataPoints": [first, last]}}),
        an_envelope({"name": name, kind: {"dataPoints": [bad]}}),
    )
    assert batch.rejects.select("line", "reason").rows() == [(3, reason)]
    assert (batch.records, [labels["at"] for _, labels, _ in samples(batch)]) == (3, ["1", "3"])


def test_a_reject_shows_the_metric_and_its_labels():
    point = a_point({"gpu": "0", "host": "h"}, timeUnixNano="0")
    batch = read(an_envelope({"name": "m", "gauge": {"dataPoints": [point]}}))
    assert batch.rejects["excerpt"].to_list() == ["name=m timeUnixNano=0 attributes=gpu=0 host=h"]


def test_labels_are_those_of_resource_and_point_sorted_and_the_points_win():
    point = a_point({"gpu": "0", "host.name": "point", "empty": ""})
    line = an_envelope(
        {"name": "m", "gauge": {"dataPoints": [point]}}, host_name="resource", service_name="llm"
    )
    (one,) = read(line).rows["series"].to_dicts()
    assert one["labels"] == [
        {"key": "gpu", "value": "0"},
        {"key": "host.name", "value": "point"},
        {"key": "service.name", "value": "llm"},
    ]


def test_a_label_is_a_text_whatever_it_is():
    nested = {"kvlistValue": {"values": [{"key": "a", "value": {"intValue": "1"}}]}}
    kinds = {
        "array": {"arrayValue": {"values": [{"stringValue": "a"}, {"stringValue": "b"}]}},
        "bool": {"boolValue": True},
        "double": {"doubleValue": 0.5},
        "int": {"intValue": "7"},
        "nested": nested,
    }
    point = {
        "timeUnixNano": str(NS),
        "attributes": [{"key": key, "value": value} for key, value in kinds.items()],
    }
    ((_, labels, _),) = samples(read(an_envelope({"name": "m", "gauge": {"dataPoints": [point]}})))
    assert labels == {"array": "a, b", "bool": "true", "double": "0.5", "int": "7", "nested": '{"a": 1}'}


def test_a_series_is_the_same_whatever_the_order_of_its_labels_and_is_given_once():
    points = [a_point({"a": "1", "b": "2"}, asInt="1"), a_point({"b": "2", "a": "1"}, asInt="2")]
    lines = [an_envelope({"name": "m", "gauge": {"dataPoints": [point]}}) for point in points]
    batch = read(*lines)
    assert (batch.rows["series"].height, batch.rows["sample"]["series_no"].to_list()) == (1, [0, 0])


def test_two_scopes_may_use_one_name_for_two_things():
    metric = {"name": "m", "gauge": {"dataPoints": [a_point(asInt="1")]}}
    assert read(an_envelope(metric, scope="a"), an_envelope(metric, scope="b")).rows["series"].height == 2


def test_a_series_of_an_earlier_batch_is_not_given_again(monkeypatch: pytest.MonkeyPatch):
    lines = [
        an_envelope({"name": name, "gauge": {"dataPoints": [a_point(asInt="1")]}}) + "\n" for name in "abab"
    ]
    monkeypatch.setattr(
        otlp.blocks,
        "blocks",
        lambda _, longest: map(otlp.Block, map(str.encode, lines), (1, 2, 3, 4), [0] * 4),
    )
    batches = list(otlp.read(io.BytesIO()))
    assert [batch.rows["series"]["name"].to_list() for batch in batches] == [["a"], ["b"], [], []]
    assert [batch.rows["sample"]["series_no"].to_list() for batch in batches] == [[0], [1], [0], [1]]


def test_an_engine_metric_by_way_of_the_collector_is_known_for_what_it_is():
    labels = {"model_name": "kestrel", "engine": "0"}
    point = a_point(labels, count="2", sum=0.75)
    metric = {"name": "vllm:time_to_first_token_seconds", "histogram": {"dataPoints": [point], **CUMULATIVE}}
    found = read(an_envelope(metric, service_name="llm", host_name="gpu-1", k8s_pod_name="llm-0")).rows[
        "series"
    ]
    assert found.select("record", "field", "host", "replica", "model", "service").rows() == [
        ("engine_sample", "ttft_count", "gpu-1", "llm-0", "kestrel", "llm"),
        ("engine_sample", "ttft_sum_s", "gpu-1", "llm-0", "kestrel", "llm"),
    ]


def test_figures_in_labels_become_samples_of_their_own_and_the_point_stays_one_record():
    labels = {"num_gpu_blocks": "4096", "block_size": "16", "enable_prefix_caching": "True"}
    metric = {"name": "vllm:cache_config_info", "gauge": {"dataPoints": [a_point(labels, asInt="1")]}}
    batch = read(an_envelope(metric))
    fields = dict(batch.rows["series"].select("series_no", "field").iter_rows())
    found = {
        fields[number]: value
        for number, value in batch.rows["sample"].select("series_no", "value").iter_rows()
    }
    assert (batch.records, found) == (
        1,
        {None: 1.0, "gpu_blocks": 4096.0, "block_size_tokens": 16.0, "is_prefix_caching": 1.0},
    )

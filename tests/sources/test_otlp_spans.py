"""A span of an envelope is a row: its line, its times to the nanosecond, and what its attributes say."""

import io
import json
from datetime import UTC, datetime
from functools import partial
from typing import Any

import polars as pl
import pytest

from tracemortem.sources import blocks, otlp
from tracemortem.sources.otlp_spans import schema

TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"
START = 1777142984578685500
SECOND = 10**9


def a_span(**fields: Any) -> dict[str, Any]:
    """A span of one second; fields given as None are left out."""
    own = {
        "traceId": TRACE,
        "spanId": SPAN,
        "name": "llm_request",
        "kind": 2,
        "startTimeUnixNano": str(START),
        "endTimeUnixNano": str(START + SECOND),
        "status": {},
        **fields,
    }
    return {key: value for key, value in own.items() if value is not None}


def attribute(key: str, **value: Any) -> dict[str, Any]:
    return {"key": key, "value": value}


def an_envelope(*spans: dict[str, Any], resource: dict[str, str] | None = None) -> str:
    attributes = [attribute(key, stringValue=value) for key, value in (resource or {}).items()]
    scope_spans = [{"scope": {"name": "vllm.llm_engine"}, "spans": list(spans)}]
    return json.dumps(
        {"resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": scope_spans}]}
    )


def rows(*lines: str) -> pl.DataFrame:
    batches = list(otlp.read(io.BytesIO("\n".join(lines).encode())))
    assert all(batch.records == batch.stored + batch.rejects.height for batch in batches)
    return pl.concat([batch.rows["span"] for batch in batches])


def row(**fields: Any) -> dict[str, Any]:
    (found,) = rows(an_envelope(a_span(**fields))).to_dicts()
    return found


def rejects(*lines: str) -> list[tuple[int, str]]:
    batches = otlp.read(io.BytesIO("\n".join(lines).encode()))
    return [pair for batch in batches for pair in batch.rejects.select("line", "reason").iter_rows()]


def test_the_rows_have_the_declared_columns():
    assert rows(an_envelope(a_span())).schema == schema()


def test_a_span_says_what_stands_in_it_and_nothing_more():
    known = {key: value for key, value in row().items() if value is not None}
    assert known == {
        "line": 1,
        "trace_id": TRACE,
        "span_id": SPAN,
        "name": "llm_request",
        "span_kind": 2,
        "started_at": datetime(2026, 4, 25, 18, 49, 44, 578685, tzinfo=UTC),
        "finished_at": datetime(2026, 4, 25, 18, 49, 45, 578685, tzinfo=UTC),
        "duration_s": 1.0,
        "status_code": 0,
        "scope": "vllm.llm_engine",
    }


def test_a_duration_is_that_of_the_nanoseconds():
    taken = [row(endTimeUnixNano=str(START + ns))["duration_s"] for ns in (0, 1, 581139000)]
    assert taken == [0.0, 1e-9, 0.581139]


def test_a_row_has_the_line_of_its_envelope_and_blank_lines_count():
    line = an_envelope(a_span(), a_span())
    assert rows("", line, "  ", line, "")["line"].to_list() == [2, 2, 4, 4]


def test_lines_count_on_from_block_to_block(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(otlp.blocks, "blocks", partial(blocks.blocks, size=1000))
    lines = [an_envelope(a_span(spanId=f"{number:016x}")) for number in range(1, 41)]
    found = rows(*lines)
    assert found.select("line", "span_id").rows() == [(number, f"{number:016x}") for number in range(1, 41)]


def test_the_resource_says_service_host_and_replica():
    resource = {"service.name": "llm", "host.name": "gpu-1", "k8s.pod.name": "llm-0"}
    found = rows(an_envelope(a_span(), resource=resource))
    assert found.select("service", "host", "replica").rows() == [("llm", "gpu-1", "llm-0")]


@pytest.mark.parametrize(
    ("resource", "host", "replica"),
    [
        ({"k8s.node.name": "node-1"}, "node-1", None),
        ({"service.instance.id": "i-1", "host.name": "gpu-1"}, "gpu-1", "i-1"),
        ({"host.name": "gpu-1", "k8s.node.name": "node-1"}, "gpu-1", "gpu-1"),
        ({"host.name": "", "k8s.node.name": "node-1"}, "node-1", None),
        ({}, None, None),
    ],
)
def test_host_and_replica_fall_back_to_what_is_known(resource, host, replica):
    found = rows(an_envelope(a_span(), resource=resource))
    assert found.select("host", "replica").rows() == [(host, replica)]


@pytest.mark.parametrize(
    ("key", "value", "column", "expected"),
    [
        ("gen_ai.usage.input_tokens", {"intValue": "17"}, "prompt_tokens", 17),
        ("gen_ai.usage.prompt_tokens", {"intValue": "17"}, "prompt_tokens", 17),
        ("llm.usage.prompt_tokens", {"intValue": "17"}, "prompt_tokens", 17),
        ("llm.token_count.prompt", {"intValue": "17"}, "prompt_tokens", 17),
        ("ai.usage.promptTokens", {"intValue": "17"}, "prompt_tokens", 17),
        ("gen_ai.usage.prompt_tokens", {"stringValue": "17"}, "prompt_tokens", 17),
        ("gen_ai.usage.prompt_tokens", {"doubleValue": 17.0}, "prompt_tokens", 17),
        ("gen_ai.usage.prompt_tokens", {"doubleValue": 17.5}, "prompt_tokens", None),
        ("gen_ai.usage.prompt_tokens", {"stringValue": "many"}, "prompt_tokens", None),
        ("gen_ai.usage.cache_read.input_tokens", {"intValue": "16"}, "cached_tokens", 16),
        ("gen_ai.usage.cached_tokens", {"intValue": "16"}, "cached_tokens", 16),
        ("gen_ai.usage.completion_tokens", {"intValue": "9"}, "output_tokens", 9),
        ("llm.token_count.completion", {"intValue": "9"}, "output_tokens", 9),
        ("gen_ai.latency.time_to_first_token", {"doubleValue": 0.5}, "ttft_s", 0.5),
        ("gen_ai.latency.time_to_first_token", {"intValue": "2"}, "ttft_s", 2.0),
        ("gen_ai.latency.time_to_first_token", {"stringValue": "0.5"}, "ttft_s", 0.5),
        ("ai.response.msToFirstChunk", {"doubleValue": 500}, "ttft_s", 0.5),
        ("gen_ai.latency.time_in_model_execute", {"doubleValue": 0.5}, "inference_s", 0.5),
        ("http.method", {"stringValue": "POST"}, "http_method", "POST"),
        ("http.status_code", {"intValue": "429"}, "http_status", 429),
        ("http.status_code", {"intValue": "99999"}, "http_status", None),
        ("url.path", {"stringValue": "/v1/completions"}, "path", "/v1/completions"),
        ("http.target", {"stringValue": "/v1/completions?stream=1"}, "path", "/v1/completions"),
        ("http.url", {"stringValue": "https://llm.example:8443/v1?a=b"}, "path", "/v1"),
        ("http.url", {"stringValue": "https://llm.example"}, "path", None),
        ("client.address", {"stringValue": "203.0.113.9"}, "client_address", "203.0.113.9"),
        ("http.client_ip", {"stringValue": "203.0.113.9"}, "client_address", "203.0.113.9"),
        ("network.peer.address", {"stringValue": "10.0.0.1"}, "peer_address", "10.0.0.1"),
        ("net.sock.peer.addr", {"stringValue": "10.0.0.1"}, "peer_address", "10.0.0.1"),
        ("network.peer.address", {"stringValue": "10.0.0.1"}, "client_address", None),
        (
            "http.request.header.x_forwarded_for",
            {"stringValue": "1.2.3.4, 5.6.7.8"},
            "forwarded_for",
            "1.2.3.4, 5.6.7.8",
        ),
        ("gen_ai.request.stream", {"boolValue": True}, "is_streaming", True),
        ("llm.is_streaming", {"stringValue": "False"}, "is_streaming", False),
        ("gen_ai.request.model", {"stringValue": ""}, "model", None),
        ("user_agent.original", {"stringValue": "küße 猫"}, "user_agent", "küße 猫"),
    ],
)
def test_an_attribute_becomes_a_column_by_whatever_name_it_goes(key, value, column, expected):
    assert row(attributes=[attribute(key, **value)])[column] == expected


def test_a_header_sent_twice_is_joined_as_http_joins_it():
    value = {"values": [{"stringValue": "1.2.3.4"}, {"stringValue": "5.6.7.8"}]}
    found = row(attributes=[attribute("http.request.header.x-forwarded-for", arrayValue=value)])
    assert found["forwarded_for"] == "1.2.3.4, 5.6.7.8"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_newest_name_wins_wherever_it_stands(order):
    both = [
        attribute("gen_ai.usage.prompt_tokens", intValue="1"),
        attribute("gen_ai.usage.input_tokens", intValue="2"),
    ]
    assert row(attributes=[both[at] for at in order])["prompt_tokens"] == 2


def test_an_empty_value_of_the_newest_name_gives_way_to_an_older_one():
    both = [
        attribute("gen_ai.request.model", stringValue=""),
        attribute("llm.request.model", stringValue="m"),
    ]
    assert row(attributes=both)["model"] == "m"


def test_of_an_attribute_that_stands_twice_the_last_counts():
    twice = [attribute("http.status_code", intValue="200"), attribute("http.status_code", intValue="504")]
    assert row(attributes=twice)["http_status"] == 504


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("1.234567s", 1.234567),
        ("35.2ms", 0.0352),
        ("812.5\u00b5s", 0.0008125),
        ("42ns", 4.2e-8),
        ("35.2", None),
    ],
)
def test_a_duration_that_says_its_unit_is_in_seconds_and_one_that_does_not_is_not_known(written, seconds):
    assert row(attributes=[attribute("queue_time", stringValue=written)])["queue_s"] == seconds


def test_a_bare_number_is_no_duration_where_the_unit_is_to_be_written():
    assert row(attributes=[attribute("total_time", doubleValue=35.2)])["e2e_s"] is None


def test_what_each_column_was_taken_from_is_counted():
    new, old = attribute("client.address", stringValue="a"), attribute("http.client_ip", stringValue="b")
    text = an_envelope(
        a_span(attributes=[new, old]), a_span(attributes=[old]), a_span(attributes=[old]), a_span()
    )
    (batch,) = otlp.read(io.BytesIO(text.encode()))
    assert batch.names == {("client_address", "client.address"): 1, ("client_address", "http.client_ip"): 2}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (TRACE.upper(), TRACE),
        ("W47/95gDgQPSabYzgT/GDA==", TRACE),
        ("", None),
        (None, None),
        ("0" * 32, None),
        ("A" * 22 + "==", None),
    ],
)
def test_a_trace_id_is_lower_case_hex_and_all_zeros_are_none(given, read):
    assert row(traceId=given)["trace_id"] == read


@pytest.mark.parametrize(
    ("given", "read"),
    [("EEE19B7EC3C1B174", SPAN), ("7uGbfsPBsXQ=", SPAN), ("", None), ("0" * 16, None), ("not an id", None)],
)
def test_a_parent_id_that_is_none_is_null(given, read):
    assert row(parentSpanId=given)["parent_span_id"] == read


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"traceId": "ABC"}, "traceId is no id of 16 bytes: ABC"),
        ({"traceId": "x" * 50}, f"traceId is no id of 16 bytes: {'x' * 40}"),
        ({"spanId": "12345678"}, "spanId is no id of 8 bytes: 12345678"),
        ({"spanId": None}, "no spanId"),
        ({"spanId": "0" * 16}, "no spanId"),
        ({"startTimeUnixNano": None}, "no startTimeUnixNano"),
        ({"startTimeUnixNano": "0"}, "no startTimeUnixNano"),
        ({"startTimeUnixNano": "noon"}, "startTimeUnixNano is no time in nanoseconds: noon"),
        ({"startTimeUnixNano": "-5"}, "startTimeUnixNano is no time in nanoseconds: -5"),
        ({"endTimeUnixNano": None}, "no endTimeUnixNano"),
        ({"endTimeUnixNano": str(2**64 - 1)}, f"endTimeUnixNano is no time in nanoseconds: {2**64 - 1}"),
        ({"endTimeUnixNano": str(START - 1)}, "it ends before it starts"),
        (
            {"kind": "SPAN_KIND_PROXY"},
            'kind is not an integer, nor a name that OTLP knows: "SPAN_KIND_PROXY"',
        ),
        ({"attributes": {"a": 1}}, 'attributes is not a list: {"a": 1}'),
        ({"name": {}}, "name is not a text: {}"),
    ],
)
def test_a_span_that_cannot_be_stored_is_a_reject_and_its_neighbours_are_not(fields, reason):
    good = an_envelope(a_span())
    found = [good, an_envelope(a_span(), a_span(**fields), a_span()), good]
    assert (rejects(*found), rows(*found)["line"].to_list()) == ([(2, reason)], [1, 2, 2, 3])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("not json", "not JSON: "),
        ('{"resourceSpans":[', "not JSON: "),
        ("{}", "not an OTLP envelope: it has none of resourceSpans, resourceMetrics, resourceLogs"),
        ("null", "not an OTLP envelope: "),
        ("[]", "not an OTLP envelope: "),
        ("17", "not an OTLP envelope: "),
        ('{"level": "info"}', "not an OTLP envelope: "),
        ('{"resourceSpans": {}}', "resourceSpans is not a list: {}"),
        ('{"resourceSpans": [7]}', "resourceSpans is not an object: 7"),
        ('{"resourceSpans":[]}{"resourceSpans":[]}', "not JSON: "),
        ('{"resourceSpans":[]}null{"resourceSpans":[]}', "not JSON: "),
        ('{"a":' + "[" * 5000 + "]" * 5000 + "}", "nested too deeply"),
    ],
)
def test_a_line_that_is_no_envelope_is_one_reject(line, reason):
    good = an_envelope(a_span())
    ((number, why),) = rejects(good, line, good)
    assert (number, why.startswith(reason), rows(good, line, good)["line"].to_list()) == (2, True, [1, 3])


def test_an_object_on_two_lines_does_not_make_up_for_two_objects_on_one():
    around = [an_envelope(a_span())] * 10
    assert [line for line, _ in rejects(*around, '{"resourceSpans":[]}' * 2, "{", "}", *around)] == [
        11,
        12,
        13,
    ]


def test_a_file_that_begins_with_null_is_read():
    assert [line for line, _ in rejects("null", an_envelope(a_span()))] == [1]


@pytest.mark.parametrize("line", ['{"resourceSpans":[]}', '{"resourceSpans":null}', '{"resourceSpans":[{}]}'])
def test_an_envelope_with_nothing_in_it_is_no_reject(line):
    (batch,) = otlp.read(io.BytesIO(f"{line}\n".encode()))
    assert (batch.records, batch.stored, batch.rejects.height) == (0, 0, 0)


def test_a_last_line_cut_off_is_a_reject_and_one_without_line_end_is_not():
    good = an_envelope(a_span())
    assert (rejects(good, good[:-9])[0][0], rejects(good, good)) == (2, [])


def test_a_reject_shows_how_the_line_begins():
    (batch,) = otlp.read(io.BytesIO(b"x" * 1000 + b"\n"))
    assert batch.rejects["excerpt"].to_list() == ["x" * 200]


def test_a_line_too_long_to_be_held_is_one_reject(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(otlp.blocks, "blocks", partial(blocks.blocks, size=1000, longest=2000))
    good = an_envelope(a_span())
    found = rejects(good, "x" * 5000, good)
    assert [line for line, _ in found] == [2]


def test_the_bytes_of_all_batches_are_those_of_the_file(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(otlp.blocks, "blocks", partial(blocks.blocks, size=1000))
    text = "\n".join([an_envelope(a_span())] * 20).encode()
    assert sum(batch.bytes_read for batch in otlp.read(io.BytesIO(text))) == len(text)

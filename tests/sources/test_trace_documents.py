"""Traces of Jaeger and Zipkin give the rows that the same spans give as OTLP."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tracemortem.sources import messages, otlp, trace_documents
from tracemortem.sources.find import survey
from tracemortem.sources.registry import read

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside this checkout")
AT = datetime(2026, 2, 3, 11, 2, 7, 250000, UTC)
MICROS = 1770116527250000
TRACE = "1f"

JAEGER: dict[str, Any] = {
    "traceID": TRACE,
    "spans": [
        {
            "traceID": TRACE,
            "spanID": "A2",
            "operationName": "llm_request",
            "references": [
                {"refType": "FOLLOWS_FROM", "traceID": TRACE, "spanID": "9"},
                {"refType": "CHILD_OF", "traceID": "ff", "spanID": "8"},
                {"refType": "CHILD_OF", "traceID": TRACE, "spanID": "a1"},
            ],
            "startTime": MICROS,
            "duration": 1500000,
            "tags": [
                {"key": "span.kind", "type": "string", "value": "server"},
                {"key": "gen_ai.usage.prompt_tokens", "type": "int64", "value": 2361},
                {"key": "gen_ai.latency.time_in_queue", "type": "float64", "value": 0.25},
                {"key": "gen_ai.request.stream", "type": "bool", "value": True},
                {"key": "peer.ipv4", "type": "int64", "value": -1062731519},
                {"key": "error", "type": "bool", "value": True},
                {"key": "otel.status_description", "type": "string", "value": "aborted"},
                {"key": "otel.library.name", "type": "string", "value": "vllm.llm_engine"},
                {"key": "blob", "type": "binary", "value": "AAAwOQ=="},
            ],
            "processID": "p1",
        }
    ],
    "processes": {
        "p1": {
            "serviceName": "ember-vllm",
            "tags": [{"key": "hostname", "type": "string", "value": "gpu-n01"}],
        }
    },
}
ZIPKIN: dict[str, Any] = {
    "traceId": TRACE,
    "id": "a2",
    "parentId": "a1",
    "kind": "SERVER",
    "name": "post",
    "timestamp": MICROS,
    "duration": 1500000,
    "localEndpoint": {"serviceName": "ember-gateway", "ipv4": "10.0.0.1"},
    "remoteEndpoint": {"ipv4": "203.0.113.9", "port": 4711},
    "tags": {"http.path": "/v1/chat/completions", "http.status_code": "499", "error": "gone"},
    "shared": True,
}


def spans(reader: Any, text: str | bytes) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """The rows, and line and reason of each reject; nothing is half read."""
    raw = text.encode() if isinstance(text, str) else text
    batches = list(reader(io.BytesIO(raw)))
    assert sum(batch.bytes_read for batch in batches) <= len(raw)
    for batch in batches:
        assert batch.records == batch.stored + batch.rejects.height
    rows = pl.concat([batch.rows["span"] for batch in batches])
    rejects = pl.concat([batch.rejects for batch in batches])
    return rows, rejects.select("line", "reason").rows()


def known(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def test_a_span_of_jaeger_has_the_columns_that_otlp_would_give_it():
    rows, rejects = spans(trace_documents.read_jaeger, json.dumps(JAEGER))
    assert rejects == []
    assert [known(row) for row in rows.to_dicts()] == [
        {
            "line": 1,
            "trace_id": TRACE.zfill(32),
            "span_id": "a2".zfill(16),
            "parent_span_id": "a1".zfill(16),
            "name": "llm_request",
            "span_kind": 2,
            "started_at": AT,
            "finished_at": datetime(2026, 2, 3, 11, 2, 8, 750000, UTC),
            "duration_s": 1.5,
            "status_code": 2,
            "status_message": "aborted",
            "scope": "vllm.llm_engine",
            "service": "ember-vllm",
            "host": "gpu-n01",
            "replica": "gpu-n01",
            "prompt_tokens": 2361,
            "queue_s": 0.25,
            "peer_address": "192.168.1.1",
            "is_streaming": True,
        }
    ]


def test_a_span_of_zipkin_has_the_columns_that_otlp_would_give_it():
    rows, rejects = spans(trace_documents.read_zipkin, json.dumps([ZIPKIN]))
    assert rejects == []
    assert [known(row) for row in rows.to_dicts()] == [
        {
            "line": 1,
            "trace_id": TRACE.zfill(32),
            "span_id": "a2".zfill(16),
            "parent_span_id": "a1".zfill(16),
            "name": "post",
            "span_kind": 2,
            "started_at": AT,
            "finished_at": datetime(2026, 2, 3, 11, 2, 8, 750000, UTC),
            "duration_s": 1.5,
            "status_code": 2,
            "status_message": "gone",
            "service": "ember-gateway",
            "path": "/v1/chat/completions",
            "http_status": 499,
            "peer_address": "203.0.113.9",
        }
    ]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(JAEGER),
        json.dumps([JAEGER], indent=2),
        json.dumps({"data": [JAEGER], "total": 0, "errors": None}),
        json.dumps({"total": 0, "data": [JAEGER]}, indent=1),
        json.dumps(
            {"_index": "jaeger", "_source": {**JAEGER["spans"][0], "process": JAEGER["processes"]["p1"]}}
        ),
    ],
)
def test_jaeger_wraps_a_trace_in_several_ways(text: str):
    expected, _ = spans(trace_documents.read_jaeger, json.dumps(JAEGER))
    rows, rejects = spans(trace_documents.read_jaeger, text)
    assert rejects == []
    assert rows.drop("line").equals(expected.drop("line"))


@pytest.mark.parametrize("found", [[ZIPKIN], [[ZIPKIN]], ZIPKIN])
def test_zipkin_lists_spans_or_traces_or_gives_a_line_each(found: Any):
    rows, rejects = spans(trace_documents.read_zipkin, f"{json.dumps(found)}\n{json.dumps(found)}\n")
    assert (rows["line"].to_list(), rejects) == ([1, 2], [])


def test_numbers_and_truth_that_elasticsearch_stores_as_texts_are_read():
    tags = [{**tag, "value": str(tag["value"]).lower()} for tag in JAEGER["spans"][0]["tags"]]
    span = {**JAEGER["spans"][0], "tags": tags, "process": JAEGER["processes"]["p1"]}
    rows, _ = spans(trace_documents.read_jaeger, json.dumps(span))
    assert rows.select("prompt_tokens", "queue_s", "is_streaming", "status_code").row(0) == (
        2361,
        0.25,
        True,
        2,
    )


def test_a_span_is_on_the_line_on_which_its_trace_begins():
    other = {**JAEGER, "spans": [{**JAEGER["spans"][0], "spanID": "b"}]}
    text = '{"data": [\n' + json.dumps(JAEGER) + ",\n\n" + json.dumps(other) + "]}"
    rows, _ = spans(trace_documents.read_jaeger, text)
    assert rows.select("line", "span_id").rows() == [(2, "a2".zfill(16)), (4, "b".zfill(16))]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"processID": "p2"}, "its process p2 is not told"),
        ({"startTime": None}, "no startTime"),
        ({"duration": "5ms"}, "duration is no number of microseconds"),
        ({"duration": -1}, "it ends before it starts"),
        ({"traceID": "xyz"}, f"traceId is no id of 16 bytes: {'xyz'.zfill(32)}"),
        ({"spanID": ""}, "no spanId"),
    ],
)
def test_a_span_that_cannot_be_stored_is_a_reject_beside_its_neighbours(given: dict[str, Any], reason: str):
    good = JAEGER["spans"][0]
    rows, rejects = spans(
        trace_documents.read_jaeger, json.dumps({**JAEGER, "spans": [{**good, **given}, good]})
    )
    assert (rows.height, rejects) == (1, [(1, reason)])


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"duration": None}, "no duration"),
        ({"timestamp": True}, "timestamp is no number of microseconds"),
        ({"id": "no"}, "spanId is no id of 8 bytes: 00000000000000no"),
    ],
)
def test_a_span_of_zipkin_that_cannot_be_stored_is_a_reject(given: dict[str, Any], reason: str):
    rows, rejects = spans(trace_documents.read_zipkin, json.dumps([ZIPKIN, {**ZIPKIN, **given}]))
    assert (rows.height, rejects) == (1, [(1, reason)])


def test_a_download_that_was_cut_off_gives_what_is_whole_of_it():
    text = '{"data": [\n' + json.dumps(JAEGER) + ",\n" + json.dumps(JAEGER)[:500]
    rows, rejects = spans(trace_documents.read_jaeger, text)
    assert (rows["line"].to_list(), rejects) == ([2], [(3, "the text ends within it")])


def test_an_answer_that_says_what_failed_is_a_reject():
    text = json.dumps({"data": [], "errors": [{"code": 404, "msg": "trace not found"}]})
    assert spans(trace_documents.read_jaeger, text)[1] == [(1, "no trace of Jaeger: it has no spans")]


def test_documents_of_many_blocks_are_read_in_several_batches(monkeypatch: pytest.MonkeyPatch):
    text = json.dumps([ZIPKIN] * 50, indent=1).encode()
    whole, _ = spans(trace_documents.read_zipkin, text)
    monkeypatch.setattr(messages, "BLOCK", 1000)
    batches = list(trace_documents.read_zipkin(io.BytesIO(text)))
    assert len(batches) > 10
    assert pl.concat([batch.rows["span"] for batch in batches]).equals(whole)


@needs_corpus
@pytest.mark.parametrize(
    ("as_jaeger", "as_otlp", "without"),
    [
        ("otlp/jaeger/otlp2jaeger-out.json", "otlp/jaeger/otlp2jaeger-in.json", ["line"]),
        (
            "otlp/jaeger/elasticsearch/tracestore/fixtures/es_01.json",
            "otlp/jaeger/elasticsearch/tracestore/fixtures/otel_traces_01.json",
            ["line", "peer_address"],  # there it stays a packed number
        ),
    ],
)
def test_what_jaeger_made_of_otlp_gives_the_rows_of_the_otlp(
    as_jaeger: str, as_otlp: str, without: list[str]
):
    rows, _ = spans(trace_documents.read_jaeger, (CORPUS / as_jaeger).read_bytes())
    line = json.dumps(json.loads((CORPUS / as_otlp).read_text()))
    (batch,) = otlp.read(io.BytesIO(line.encode()))
    assert rows.drop(without).equals(batch.rows["span"].drop(without))


@needs_corpus
@pytest.mark.parametrize(
    "path", sorted((CORPUS / "zipkin" / "zipkin-lens").glob("*.json")), ids=lambda path: path.name
)
def test_every_span_that_zipkin_gives_is_stored_or_lacks_a_time(path: Path):
    (found,) = survey([str(path)])
    document = json.loads(path.read_text())
    given = document if isinstance(document, list) else [document]
    is_timed = [
        span for span in given if span.get("timestamp") is not None and span.get("duration") is not None
    ]
    rows = [row for batch in read(found) for row in batch.rows["span"].rows(named=True)]
    assert [(row["span_id"], row["name"], row["duration_s"], row["service"]) for row in rows] == [
        (
            span["id"],
            span["name"],
            span["duration"] / 1e6,
            span["localEndpoint"].get("serviceName"),
        )
        for span in is_timed
    ]


def test_an_end_that_is_missing_is_a_reject_also_where_a_batch_has_just_ended(monkeypatch):
    monkeypatch.setattr(messages, "BLOCK", 1)
    batches = list(trace_documents.read_zipkin(io.BytesIO(b'[{"traceId": "1f", "id": "a2"}')))
    assert [reason for batch in batches for reason in batch.rejects["reason"]] == [
        "no timestamp",
        "the text ends before the document does",
    ]

"""OTLP read a second time, by plain Python and by OpenTelemetry's own protobuf classes: the same rows."""

import gzip
import io
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tracemortem.sources import blocks, otlp

SHARED = Path(__file__).resolve().parents[3] / "shared"
INCIDENTS = SHARED / "incidents"
RECORDINGS = sorted(path.name for path in INCIDENTS.glob("*/")) if INCIDENTS.is_dir() else []
CORPUS = sorted((SHARED / "corpus" / "otlp").glob("**/*.json*")) if SHARED.is_dir() else []
needs_recordings = pytest.mark.skipif(
    not RECORDINGS, reason="the labelled recordings are not beside this checkout"
)
needs_corpus = pytest.mark.skipif(not CORPUS, reason="the corpus of public files is not beside this checkout")
LOOKED_AT = 200
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KINDS = {"gauge", "sum", "histogram", "exponentialHistogram", "summary"}

# what the recordings call things, written down a second time
SAID = {
    "request_id": ("gen_ai.request.id",),
    "model": ("gen_ai.request.model", "gen_ai.response.model"),
    "prompt_tokens": ("gen_ai.usage.prompt_tokens",),
    "cached_tokens": ("gen_ai.usage.cache_read.input_tokens",),
    "output_tokens": ("gen_ai.usage.completion_tokens",),
    "max_tokens": ("gen_ai.request.max_tokens",),
    "ttft_s": ("gen_ai.latency.time_to_first_token",),
    "queue_s": ("gen_ai.latency.time_in_queue",),
    "prefill_s": ("gen_ai.latency.time_in_model_prefill",),
    "decode_s": ("gen_ai.latency.time_in_model_decode",),
    "inference_s": (),
    "e2e_s": ("gen_ai.latency.e2e",),
    "http_method": ("http.request.method",),
    "path": ("url.path",),
    "http_status": ("http.response.status_code",),
    "client_address": ("client.address",),
    "peer_address": ("network.peer.address",),
    "forwarded_for": (),
    "user_agent": ("user_agent.original",),
    "is_streaming": (),
    "tenant": (),
}


def opened(recording: str) -> Any:
    return gzip.open(INCIDENTS / recording / "otel" / "spans.jsonl.gz", "rb")


def values(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    read = {"intValue": int, "stringValue": str, "doubleValue": float}
    return {one["key"]: read[kind](value) for one in attributes for kind, value in one["value"].items()}


def plainly(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """The rows of the table span, by json and dicts alone."""
    for number, line in enumerate(lines, 1):
        for resource_spans in json.loads(line)["resourceSpans"]:
            whose = values(resource_spans["resource"]["attributes"])
            for scope_spans in resource_spans["scopeSpans"]:
                for span in scope_spans["spans"]:
                    said = values(span["attributes"])
                    start, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
                    yield {
                        "line": number,
                        "trace_id": span["traceId"],
                        "span_id": span["spanId"],
                        "parent_span_id": span["parentSpanId"] or None,
                        "name": span["name"],
                        "span_kind": span["kind"],
                        "started_at": EPOCH + timedelta(microseconds=start // 1000),
                        "finished_at": EPOCH + timedelta(microseconds=end // 1000),
                        "duration_s": (end - start) / 1e9,
                        "status_code": span["status"].get("code", 0),
                        "status_message": span["status"].get("message"),
                        "scope": scope_spans["scope"]["name"],
                        "service": whose["service.name"],
                        "host": whose["host.name"],
                        "replica": whose["k8s.pod.name"],
                        **{
                            column: next((said[name] for name in names if name in said), None)
                            for column, names in SAID.items()
                        },
                    }


@needs_recordings
@pytest.mark.slow
@pytest.mark.parametrize("recording", RECORDINGS)
def test_every_span_of_a_recording_is_a_row(recording: str):
    with opened(recording) as stream:
        counts = [(batch.records, batch.stored, batch.rejects.height) for batch in otlp.read(stream)]
    with opened(recording) as stream:
        spans = sum(
            len(scope_spans["spans"])
            for line in stream
            for resource_spans in json.loads(line)["resourceSpans"]
            for scope_spans in resource_spans["scopeSpans"]
        )
    assert [sum(column) for column in zip(*counts, strict=True)] == [spans, spans, 0]


@needs_recordings
@pytest.mark.parametrize("recording", RECORDINGS)
def test_plain_python_reads_the_same_rows(recording: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(otlp.blocks, "blocks", partial(blocks.blocks, size=1 << 20))
    with opened(recording) as stream:
        text = b"".join(islice(stream, LOOKED_AT))
    found = pl.concat([batch.rows["span"] for batch in otlp.read(io.BytesIO(text))])
    assert found.to_dicts() == list(plainly(iter(text.splitlines())))


@needs_corpus
@pytest.mark.parametrize("file", CORPUS, ids=lambda file: "-".join(file.parts[-2:]))
def test_a_public_file_is_read_to_its_end_whatever_it_is(file: Path):
    with file.open("rb") as stream:
        batches = list(otlp.read(stream))
    assert (
        sum(batch.bytes_read for batch in batches),
        [batch.records - batch.stored - batch.rejects.height for batch in batches],
    ) == (file.stat().st_size, [0] * len(batches))


@needs_corpus
def test_a_capture_of_three_signals_gives_what_stands_in_it():
    file = SHARED / "corpus" / "otlp" / "otel-tui" / "test_data.json"
    expected: Counter[str] = Counter()
    for line in file.read_bytes().splitlines():
        for signal, resources in json.loads(line).items():
            name = signal.removeprefix("resource")
            for scope in (scope for resource in resources for scope in resource[f"scope{name}"]):
                expected["spans"] += len(scope.get("spans", []))
                expected["logs"] += len(scope.get("logRecords", []))
                for metric in scope.get("metrics", []):
                    expected["points"] += sum(
                        len(metric[kind]["dataPoints"]) for kind in KINDS & metric.keys()
                    )
    with file.open("rb") as stream:
        (batch,) = otlp.read(stream)
    spans, logs = batch.rows["span"].height, batch.rows["log"].height
    found = {"spans": spans, "logs": logs, "points": batch.stored - spans - logs}
    assert (found, batch.rejects.height) == (expected, 0)


def plain_samples(line: bytes) -> Iterator[tuple[str, tuple[tuple[str, str], ...], int, float]]:
    """(name, labels, microseconds, value) of the samples of an envelope, by json and dicts alone."""
    for resource in json.loads(line).get("resourceMetrics", []):
        for metric in (metric for scope in resource["scopeMetrics"] for metric in scope["metrics"]):
            (kind,) = KINDS & metric.keys()
            for point in metric[kind]["dataPoints"]:
                labels = {**texts(resource["resource"]), **texts(point)}
                at = int(point["timeUnixNano"]) // 1000

                def sample(suffix: str, value: float, labels=labels, at=at, name=metric["name"], **le: str):
                    return name + suffix, tuple(sorted({**labels, **le}.items())), at, value

                if "asDouble" in point or "asInt" in point:
                    yield sample("", float(point.get("asDouble", point.get("asInt"))))
                    continue
                yield sample("_count", float(point.get("count", 0)))
                if "sum" in point:
                    yield sample("_sum", point["sum"])
                below = 0
                edges = [*map(str, map(float, point.get("explicitBounds", []))), "+Inf"]
                for le, count in zip(edges, point.get("bucketCounts", []), strict=False):
                    below += int(count)
                    yield sample("_bucket", float(below), le=le)


def texts(of: dict[str, Any]) -> dict[str, str]:
    found = {}
    for one in of.get("attributes", []):
        ((kind, value),) = one["value"].items()
        if kind == "arrayValue":
            value = ", ".join(item["stringValue"] for item in value.get("values", []))
        found[one["key"]] = str(value).lower() if kind == "boolValue" else str(value)
    return {key: value for key, value in found.items() if value}


@needs_corpus
def test_plain_python_reads_the_same_samples_of_a_capture():
    file = SHARED / "corpus" / "otlp" / "otel-tui" / "test_data.json"
    with file.open("rb") as stream:
        (batch,) = otlp.read(stream)
    named = {
        one["series_no"]: (one["name"], tuple((label["key"], label["value"]) for label in one["labels"]))
        for one in batch.rows["series"].to_dicts()
    }
    sample = batch.rows["sample"].with_columns(at=pl.col("at").dt.epoch("us"))
    found = Counter((line, *named[number], at, value) for line, number, at, value in sample.iter_rows())
    lines = enumerate(file.read_bytes().splitlines(), 1)
    assert found == Counter((number, *one) for number, line in lines for one in plain_samples(line))


def a_request() -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    for number in (1, 2, 3):
        resource = request.resource_spans.add()
        attribute = resource.resource.attributes.add(key="service.name")
        attribute.value.string_value = f"service-{number}"
        scope = resource.scope_spans.add()
        scope.scope.name = "engine"
        for at in range(number):
            span = scope.spans.add(
                trace_id=bytes([number] * 16),
                span_id=bytes([at + 1] * 8),
                parent_span_id=b"" if at == 0 else bytes([at] * 8),
                name=f"step {at}",
                kind=2,
                start_time_unix_nano=1777142984578685500 + at,
                end_time_unix_nano=1777142984578685500 + at * 123456789,
            )
            span.status.code = 2
            span.status.message = "cut off"
            span.attributes.add(key="gen_ai.usage.input_tokens").value.int_value = 2**40 + at
            span.attributes.add(key="gen_ai.latency.e2e").value.double_value = 0.1 * at
            span.attributes.add(key="gen_ai.request.stream").value.bool_value = at == 1
    return request


@pytest.mark.parametrize("in_snake_case", [False, True])
@pytest.mark.parametrize("enums_as_integers", [False, True])
def test_what_protobuf_writes_as_json_is_read_as_protobuf_holds_it(in_snake_case, enums_as_integers):
    request = a_request()
    line = json_format.MessageToJson(
        request,
        indent=None,
        preserving_proto_field_name=in_snake_case,
        use_integers_for_enums=enums_as_integers,
    )
    columns = (
        "service", "scope", "trace_id", "span_id", "parent_span_id", "name", "span_kind", "started_at",
        "duration_s", "status_code", "status_message", "prompt_tokens", "e2e_s", "is_streaming",
    )  # fmt: skip
    (batch,) = otlp.read(io.BytesIO(line.encode()))
    assert batch.rows["span"].select(columns).rows() == [
        (
            resource.resource.attributes[0].value.string_value,
            scope.scope.name,
            span.trace_id.hex(),
            span.span_id.hex(),
            span.parent_span_id.hex() or None,
            span.name,
            span.kind,
            EPOCH + timedelta(microseconds=span.start_time_unix_nano // 1000),
            (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
            span.status.code,
            span.status.message,
            span.attributes[0].value.int_value,
            span.attributes[1].value.double_value,
            span.attributes[2].value.bool_value,
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]

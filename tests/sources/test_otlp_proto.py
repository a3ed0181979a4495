"""OTLP as length-prefixed protobuf gives the rows that the same envelopes give as JSON lines."""

import io
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    Gauge,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, TracesData

from tracemortem.sources import otlp, otlp_proto
from tracemortem.sources.recognise import recognise

AT = 1_777_142_984_578_685_500
SPANS = TracesData(
    resource_spans=[
        ResourceSpans(
            scope_spans=[
                ScopeSpans(
                    spans=[
                        Span(
                            trace_id=bytes(range(1, 17)),
                            span_id=bytes(range(1, 9)),
                            name="llm_request",
                            kind=Span.SPAN_KIND_SERVER,
                            start_time_unix_nano=AT,
                            end_time_unix_nano=AT + 1500,
                            attributes=[
                                KeyValue(key="gen_ai.usage.prompt_tokens", value=AnyValue(int_value=2361))
                            ],
                        )
                    ]
                )
            ]
        )
    ]
)
METRICS = MetricsData(
    resource_metrics=[
        ResourceMetrics(
            scope_metrics=[
                ScopeMetrics(
                    metrics=[
                        Metric(
                            name="x",
                            gauge=Gauge(data_points=[NumberDataPoint(time_unix_nano=AT, as_double=0.5)]),
                        )
                    ]
                )
            ]
        )
    ]
)
LOGS = LogsData(
    resource_logs=[
        ResourceLogs(
            scope_logs=[
                ScopeLogs(
                    log_records=[LogRecord(time_unix_nano=AT, body=AnyValue(string_value="hello\nyou"))]
                )
            ]
        )
    ]
)
MESSAGES = (SPANS, METRICS, LOGS)


def _framed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


FRAMED = _framed(*(message.SerializeToString() for message in MESSAGES))


def test_frames_give_the_rows_of_the_same_envelopes_as_json_lines() -> None:
    text = "".join(MessageToJson(message, indent=None) + "\n" for message in MESSAGES).encode()
    (plain,) = otlp.read(io.BytesIO(text))
    (framed,) = otlp_proto.read(io.BytesIO(FRAMED))
    assert {name: rows.rows() for name, rows in framed.rows.items()} == {
        name: rows.rows() for name, rows in plain.rows.items()
    }
    assert (framed.records, framed.stored, framed.bytes_read) == (3, 3, len(FRAMED))


def test_ids_are_lower_hex() -> None:
    (batch,) = otlp_proto.read(io.BytesIO(FRAMED))
    ids = batch.rows["span"].select("trace_id", "span_id").row(0)
    assert ids == ("0102030405060708090a0b0c0d0e0f10", "0102030405060708")


def test_a_frame_that_does_not_parse_is_a_reject_with_its_number() -> None:
    (batch,) = otlp_proto.read(io.BytesIO(FRAMED + _framed(b"\xff\xff")))
    assert batch.rejects.rows() == [(4, "a frame that is no OTLP export request", "ffff")]
    assert (batch.records, batch.stored) == (4, 3)


@pytest.mark.parametrize("tail", [b"\0\0", b"\0\0\1\0abc"])
def test_a_tail_that_is_cut_off_is_a_reject(tail: bytes) -> None:
    (batch,) = otlp_proto.read(io.BytesIO(FRAMED + tail))
    assert batch.rejects.rows() == [(4, f"a frame of which only {max(len(tail) - 4, 0)} bytes are there", "")]
    assert batch.records == batch.stored + 1


def test_a_log_record_whose_text_parses_as_a_gauge_is_a_log_record() -> None:
    record = LogRecord(time_unix_nano=AT, body=AnyValue(string_value="x" * 1000))
    message = LogsData(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=[record])])])
    (batch,) = otlp_proto.read(io.BytesIO(_framed(message.SerializeToString())))
    assert (batch.rejects.height, batch.rows["log"]["body"].to_list()) == (0, ["x" * 1000])


def test_metrics_one_of_which_has_a_name_and_a_description_as_long_as_ids_are_metrics() -> None:
    point = NumberDataPoint(time_unix_nano=AT, as_double=1.0)
    metrics = [
        Metric(name=name, description=about, gauge=Gauge(data_points=[point]))
        for name, about in (("n" * 16, "d" * 8), ("other", ""))
    ]
    message = MetricsData(resource_metrics=[ResourceMetrics(scope_metrics=[ScopeMetrics(metrics=metrics)])])
    (batch,) = otlp_proto.read(io.BytesIO(_framed(message.SerializeToString())))
    assert (batch.rejects.height, batch.rows["sample"].height) == (0, 2)


@pytest.mark.parametrize("message", MESSAGES)
def test_frames_are_recognised_by_content(message: TracesData | MetricsData | LogsData) -> None:
    assert recognise(_framed(message.SerializeToString())).format == "otlp_protobuf"


@pytest.mark.parametrize("name", ["trace", "metrics"])
def test_bare_messages_of_the_corpus_are_read_in_frames(name: str) -> None:
    path = Path("../shared/corpus/otlp/opentelemetry-proto-2024-pb") / f"{name}.protobuf-bin"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    (batch,) = otlp_proto.read(io.BytesIO(_framed(path.read_bytes())))
    assert batch.rejects.height == 0
    assert batch.stored > 0

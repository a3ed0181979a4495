"""OTLP messages in frames, compressed or not, and bare, give the rows of the same messages as JSON lines."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from tracemortem.sources import otlp, otlp_frames, otlp_proto
from tracemortem.sources.batch import Batch
from tracemortem.sources.find import survey
from tracemortem.sources.recognise import recognise
from tracemortem.sources.registry import read

AT = 1_777_142_984_578_685_500
OWN = Resource(attributes=[KeyValue(key="service.name", value=AnyValue(string_value="llm"))])


def spans(*resources: int) -> ExportTraceServiceRequest:
    """A request of so many resources, each with as many spans as its number says."""
    return ExportTraceServiceRequest(
        resource_spans=[
            ResourceSpans(
                resource=OWN,
                scope_spans=[
                    ScopeSpans(
                        spans=[
                            Span(
                                trace_id=bytes(range(16)),
                                span_id=bytes([number, *range(7)]),
                                name="llm_request",
                                start_time_unix_nano=AT,
                                end_time_unix_nano=AT + 1500,
                            )
                            for number in range(1, count + 1)
                        ]
                    )
                ],
            )
            for count in resources
        ]
    )


LOGS = ExportLogsServiceRequest(
    resource_logs=[
        ResourceLogs(
            resource=OWN,
            scope_logs=[
                ScopeLogs(log_records=[LogRecord(time_unix_nano=AT, body=AnyValue(string_value="a\nb{"))])
            ],
        )
    ]
)
MESSAGES = (spans(2), LOGS, spans(1))
PROTO = [message.SerializeToString() for message in MESSAGES]
JSON = [json.dumps(MessageToDict(message, use_integers_for_enums=True)).encode() for message in MESSAGES]
LINES = b"".join(line + b"\n" for line in JSON)


def zstd(content: bytes) -> bytes:
    packed: bytes = pa.compress(content, codec="zstd", asbytes=True)
    return packed


def framed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def rows(batch: Batch) -> dict[str, list[tuple[object, ...]]]:
    return {name: frame.rows() for name, frame in batch.rows.items()}


def whole(content: bytes, folder: Path) -> tuple[str, Batch]:
    (folder / "a").write_bytes(content)
    (found,) = survey([str(folder / "a")])
    (batch,) = read(found)
    return found.format, batch


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (framed(*PROTO), "otlp_protobuf"),
        (framed(*JSON), "otlp_framed"),
        (framed(*map(zstd, PROTO)), "otlp_framed"),
        (framed(*map(zstd, JSON)), "otlp_framed"),
        (zstd(framed(*PROTO)), "otlp_protobuf"),
        (zstd(LINES[:200]) + zstd(LINES[200:]), "otlp_json_lines"),
    ],
    ids=["proto", "json in frames", "zstd of proto", "zstd of json", "frames in zstd", "lines in zstd"],
)
def test_each_framing_of_the_collector_gives_the_same_rows(tmp_path: Path, content: bytes, form: str):
    (plain,) = otlp.read(io.BytesIO(LINES))
    found, batch = whole(content, tmp_path)
    assert found == form
    assert rows(batch) == rows(plain)
    assert (batch.records, batch.stored, batch.rejects.height) == (4, 4, 0)


@pytest.mark.parametrize("pack", [bytes, zstd], ids=["plain", "zstd"])
@pytest.mark.parametrize("bodies", [PROTO, JSON], ids=["proto", "json"])
def test_a_first_frame_longer_than_the_head_is_recognised(
    bodies: list[bytes], pack: Callable[[bytes], bytes]
):
    content = framed(pack(bodies[0]))
    assert recognise(content + b"\0" * (64 << 10)).format == recognise(content).format
    assert recognise(content[:200]).format == recognise(content).format


def test_a_damaged_frame_costs_its_neighbours_nothing():
    good, cut = zstd(PROTO[0]), zstd(PROTO[0])[:-3]
    damaged = bytearray(good)
    damaged[10] ^= 0xFF
    (batch,) = otlp_proto.read(io.BytesIO(framed(good, cut, bytes(damaged), good) + b"\0\0\0\x09abc"))
    reasons = batch.rejects["reason"].to_list()
    assert batch.rejects["line"].to_list() == [2, 3, 5]
    assert reasons[0] == "a zstd frame that ends early: Truncated compressed stream"
    assert reasons[1].startswith(("a zstd frame that is damaged", "a frame that is no OTLP"))
    assert reasons[2] == "a frame of which only 3 bytes are there"
    assert (batch.records, batch.stored) == (7, 4)


def test_a_frame_that_holds_more_than_can_be_held_is_a_reject():
    large = zstd(b"{" + b" " * (64 << 20))
    found = list(otlp_frames.prefixed(io.BytesIO(framed(large, zstd(b"{}")))))
    assert [(frame.number, frame.body, frame.fault) for frame in found] == [
        (1, b"", "a frame that holds more than 64 MiB"),
        (2, b"{}", ""),
    ]


def test_frames_that_expand_beyond_reason_are_not_decompressed_on():
    large = zstd(b"{" + b" " * (40 << 20))
    found = list(otlp_frames.prefixed(io.BytesIO(framed(large, large, large))))
    assert [frame.fault[:22] for frame in found] == ["", "", "what looks like a deco"]


def test_a_bare_message_is_read_a_resource_at_a_time(tmp_path: Path):
    message = spans(1, 3, 2)
    form, batch = whole(message.SerializeToString(), tmp_path)
    assert form == "otlp_protobuf_bare"
    assert batch.rows["span"]["line"].to_list() == [1, 2, 2, 2, 3, 3]
    assert (batch.records, batch.bytes_read) == (6, message.ByteSize())


def test_a_bare_message_longer_than_the_head_is_recognised_by_its_first_resource():
    content = spans(*[2] * 600).SerializeToString()
    assert len(content) > 64 << 10
    assert recognise(content[: 64 << 10]).format == "otlp_protobuf_bare"


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (b"\x0a\x7fabc", "a resource of which only 3 bytes are there"),
        (b"\x0a", "no OTLP export request from here on"),
        (b"\x0a\xff\xff", "no OTLP export request from here on"),
        (b"hello", "no OTLP export request from here on"),
        (b"\x0a\xff\xff\xff\x7fabc", "a resource longer than 64 MiB"),
    ],
)
def test_what_is_no_resource_of_a_bare_message_is_a_reject(tail: bytes, reason: str):
    (batch,) = otlp_proto.read_bare(io.BytesIO(PROTO[0] + tail))
    assert batch.rejects.rows() == [(2, reason, "")]
    assert (batch.records, batch.stored, batch.bytes_read) == (3, 2, len(PROTO[0] + tail))


@pytest.mark.parametrize(
    "text",
    [b"\n" * 50, b"\n\nhello\n", b"\n{}\n", b"\n\x0a\x12abc", b"\n" + b"x" * 100_000, b"\0\0\0\x05hello"],
)
def test_text_after_a_blank_line_is_no_bare_message(text: bytes):
    assert recognise(text[: 64 << 10]).kind != "otlp"


@pytest.mark.parametrize("name", ["otlp_traces", "otlp_metrics", "otlp_logs"])
def test_bare_messages_of_the_corpus_are_read(shared: Path, name: str):
    (found,) = survey([str(shared / "corpus/otlp/duckdb-otlp" / f"{name}.pb")])
    (batch,) = read(found)
    assert found.format == "otlp_protobuf_bare"
    assert (batch.rejects.height, batch.stored > 0) == (0, True)

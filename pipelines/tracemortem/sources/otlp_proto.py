"""OTLP as messages in frames (otlp_frames) -> spans, logs, series and samples.

Nothing in a message of protobuf names its signal, so it is parsed as each, and told by what only the right
one gives. It then goes the way of a JSON line.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO

import orjson
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tracemortem.sources import otlp_frames
from tracemortem.sources.batch import Batch
from tracemortem.sources.blocks import BLOCK
from tracemortem.sources.messages import Messages
from tracemortem.sources.opened import HEAD
from tracemortem.sources.otlp_frames import RESOURCE, Frame
from tracemortem.sources.otlp_series import Catalogue
from tracemortem.sources.otlp_spans import Found

LARGE = 4 << 20  # bytes of messages from which on a compiled scanner makes up for its start
_MOST = 100_000  # messages in a batch, as one may hold nothing
_ID_BYTES = (16, 8)  # of a trace, of a span
_JSON_BEGINS = re.compile(rb'\{\s*"resource_?(?:Spans|Metrics|Logs|spans|metrics|logs)"')
_Message = TracesData | MetricsData | LogsData


def begins(head: bytes) -> tuple[str, str] | None:
    """The format of a file of export requests that begins so, and why it is taken for that; else None."""
    body, is_whole, is_packed = otlp_frames.first(head)
    how = "length-prefixed messages, each compressed by zstd," if is_packed else "length-prefixed messages"
    # a first frame that reaches past the head cannot be parsed yet; how it begins has to do
    if body.startswith(RESOURCE) and (not is_whole or _parsed(body) is not None):
        return (
            "otlp_framed" if is_packed else "otlp_protobuf",
            f"{how} that parse as OTLP export requests",
        )
    if _JSON_BEGINS.match(body):
        return "otlp_framed", f"{how} that are OTLP as JSON"
    if is_packed and not body and not is_whole:
        return "otlp_framed", f"{how} as the Collector writes them"
    if _is_bare(head):
        return "otlp_protobuf_bare", "one message that parses as an OTLP export request"
    return None


def read(stream: BinaryIO) -> Iterator[Batch]:
    """As otlp.read; the line of a record, and of a reject, is the number of its frame, from 1.

    A frame holds an export request as protobuf or as JSON. One that is none, is longer than LONGEST or is cut
    off is one record and one reject.
    """
    return _read(otlp_frames.prefixed(stream))


def read_bare(stream: BinaryIO) -> Iterator[Batch]:
    """As read, of one export request without a length before it; for line, the number of the resource."""
    return _read(otlp_frames.bare(stream))


def _read(frames: Iterator[Frame]) -> Iterator[Batch]:
    catalogue, held, size, is_large = Catalogue(), [], 0, False
    for frame in frames:
        held.append(frame)
        size += len(frame.body)
        if size >= BLOCK or len(held) >= _MOST:
            is_large |= size >= LARGE
            yield _batch(held, catalogue, is_large=is_large)
            held, size = [], 0
    if held:
        yield _batch(held, catalogue, is_large=is_large or size >= LARGE)


def _batch(frames: list[Frame], catalogue: Catalogue, *, is_large: bool) -> Batch:
    messages = Messages(sum(frame.taken for frame in frames))
    scanned: list[Found] = []
    if is_large:
        from tracemortem.sources import otlp_scanned

        scanned, frames = otlp_scanned.messages(frames)
    for frame in frames:
        if frame.fault:
            messages.lose(frame.number, frame.fault, "")
        elif frame.is_json:
            messages.add(frame.number, frame.body.replace(b"\n", b" "))
        elif (message := _parsed(frame.body)) is None:
            messages.lose(frame.number, "a frame that is no OTLP export request", frame.body[:50].hex())
        else:
            messages.add(frame.number, orjson.dumps(MessageToDict(message, use_integers_for_enums=True)))
    return messages.batch(catalogue, scanned)


def _is_bare(head: bytes) -> bool:
    """Whether a message begins here, parsed in full if it is there in full, else its first resource."""
    if len(head) < HEAD:
        return head.startswith(RESOURCE) and _parsed(head) is not None
    try:
        resource = Resource.FromString(otlp_frames.first_resource(head))
    except DecodeError:
        return False
    return bool(resource.attributes) and all(one.key for one in resource.attributes)


def _parsed(body: bytes) -> _Message | None:
    for kind in (TracesData, MetricsData, LogsData):
        try:
            message: _Message = kind.FromString(body)
        except DecodeError:
            continue
        if _is_right(message):
            return message
    return None


def _is_right(message: _Message) -> bool:
    """Whether its first item has what the same bytes, read as another signal, cannot give."""
    if isinstance(message, TracesData):
        spans = [span for of in message.resource_spans for scope in of.scope_spans for span in scope.spans]
        # one name and description of a metric may well be as long as the ids, but hardly those of all
        has_ids = ((len(span.trace_id), len(span.span_id)) == _ID_BYTES for span in spans)
        return any(span.start_time_unix_nano for span in spans) or (bool(spans) and all(has_ids))
    if isinstance(message, MetricsData):
        metrics = (
            one for of in message.resource_metrics for scope in of.scope_metrics for one in scope.metrics
        )
        # the body of a log record stands where a gauge does, and its text may happen to parse as one
        return any(one.name and one.WhichOneof("data") for one in metrics)
    logs = (log for of in message.resource_logs for scope in of.scope_logs for log in scope.log_records)
    return any(log.time_unix_nano or log.observed_time_unix_nano or log.HasField("body") for log in logs)

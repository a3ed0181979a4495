"""OTLP as length-prefixed protobuf, as the Collector's file exporter writes it with `format: proto`.

A frame is a length (u32, big-endian) and so many bytes of one export request. Nothing in it names its signal,
so it is parsed as each, and told by what only the right one gives. It then goes the way of a JSON line.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

import orjson
import polars as pl
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tracemortem.sources import otlp
from tracemortem.sources.attributes import Used
from tracemortem.sources.batch import REJECTS, Batch
from tracemortem.sources.blocks import BLOCK, LONGEST, Block
from tracemortem.sources.otlp_series import Catalogue

_PREFIX = 4
_ID_BYTES = (16, 8)  # of a trace, of a span
_RESOURCE = 0x0A  # field 1, length-delimited: how each of the three messages begins
_Message = TracesData | MetricsData | LogsData


def begins(head: bytes) -> bool:
    """Whether a file that begins with these bytes holds such frames."""
    if len(head) <= _PREFIX or head[_PREFIX] != _RESOURCE:
        return False
    size = int.from_bytes(head[:_PREFIX], "big")
    body = head[_PREFIX : _PREFIX + size]
    # a first frame that reaches past the head cannot be parsed yet; its length and first byte have to do
    return 0 < size <= LONGEST and (len(body) < size or _parsed(body) is not None)


def read(stream: BinaryIO, used: Used | None = None) -> Iterator[Batch]:
    """As otlp.read; the line of a record, and of a reject, is the number of its frame, from 1.

    A frame that is no export request, is longer than LONGEST or is cut off is one record and one reject.
    """
    catalogue = Catalogue()
    lines: list[bytes] = []
    lost: list[tuple[int, str, str]] = []
    first, number, taken = 1, 0, 0
    while prefix := stream.read(_PREFIX):
        number += 1
        size = int.from_bytes(prefix, "big")
        is_overlong = size > LONGEST
        body = b"" if is_overlong else stream.read(size)
        got = _skipped(stream, size) if is_overlong else len(body)
        taken += len(prefix) + got
        line = b""
        if len(prefix) < _PREFIX or got < size:
            lost.append((number, f"a frame of which only {got} bytes are there", ""))
        elif is_overlong:
            lost.append((number, f"a frame longer than {LONGEST >> 20} MiB", ""))
        elif (message := _parsed(body)) is None:
            lost.append((number, "a frame that is no OTLP export request", body[:50].hex()))
        else:
            line = orjson.dumps(MessageToDict(message, use_integers_for_enums=True))
        lines.append(line)
        if taken >= BLOCK:
            yield _batch(Block(b"\n".join(lines), first, taken), lost, catalogue, used)
            lines, lost, first, taken = [], [], number + 1, 0
    if lines:
        yield _batch(Block(b"\n".join(lines), first, taken), lost, catalogue, used)


def _batch(block: Block, lost: list[tuple[int, str, str]], catalogue: Catalogue, used: Used | None) -> Batch:
    batch = otlp.batch(block, catalogue, used)
    own = pl.DataFrame(lost, schema=dict(REJECTS), orient="row")
    rejects = pl.concat([batch.rejects, own]).sort("line", maintain_order=True)
    return replace(batch, rejects=rejects, records=batch.records + own.height)


def _skipped(stream: BinaryIO, size: int) -> int:
    left = size
    while left and (chunk := stream.read(min(left, BLOCK))):
        left -= len(chunk)
    return size - left


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
        spans = (span for of in message.resource_spans for scope in of.scope_spans for span in scope.spans)
        return any(
            span.start_time_unix_nano or (len(span.trace_id), len(span.span_id)) == _ID_BYTES
            for span in spans
        )
    if isinstance(message, MetricsData):
        metrics = (
            one for of in message.resource_metrics for scope in of.scope_metrics for one in scope.metrics
        )
        return any(one.WhichOneof("data") for one in metrics)
    logs = (log for of in message.resource_logs for scope in of.scope_logs for log in scope.log_records)
    return any(log.time_unix_nano or log.observed_time_unix_nano or log.HasField("body") for log in logs)

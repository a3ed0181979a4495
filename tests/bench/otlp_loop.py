"""Spans of opentelemetry-proto's messages into the columns of our reader, by a loop."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

import polars as pl
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from tracemortem.sources.attributes import Wanted, of_record, of_resource
from tracemortem.sources.otlp_spans import schema
from tracemortem.sources.records import record

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TYPES = {pl.String: str, pl.Float64: float, pl.Boolean: bool}
# attribute -> columns it is for, its rank among the names of each, type and factor
_Ways = Mapping[str, list[tuple[str, int, type, float]]]


def frames(bodies: Iterable[bytes]) -> Iterator[pl.DataFrame]:
    """The spans of each message as rows of the table span."""
    own, of_process = _ways(of_record(record("span"))), _ways(of_resource(record("span")))
    types = schema()
    for line, body in enumerate(bodies, 1):
        columns: dict[str, list[object]] = {name: [] for name in types}
        add = [(name, column.append) for name, column in columns.items()]
        for of in TracesData.FromString(body).resource_spans:
            whose = _told(of.resource.attributes, of_process)
            for scope in of.scope_spans:
                for span in scope.spans:
                    row = {"line": line, "scope": scope.scope.name, **whose}
                    row |= _told(span.attributes, own)
                    row |= _own(span)
                    for name, append in add:
                        append(row.get(name))
        yield pl.DataFrame(columns, schema=types)


def _own(span: Span) -> dict[str, object]:
    start, end = span.start_time_unix_nano, span.end_time_unix_nano
    return {
        "trace_id": span.trace_id.hex(),
        "span_id": span.span_id.hex(),
        "parent_span_id": span.parent_span_id.hex() or None,
        "name": span.name,
        "span_kind": span.kind,
        "started_at": _EPOCH + timedelta(microseconds=start // 1000),
        "finished_at": _EPOCH + timedelta(microseconds=end // 1000),
        "duration_s": (end - start) / 1e9,
        "status_code": span.status.code,
        "status_message": span.status.message or None,
    }


def _ways(wanted: Iterable[Wanted]) -> _Ways:
    ways: dict[str, list[tuple[str, int, type, float]]] = {}
    for one in wanted:
        for rank, (name, times) in enumerate(one.names):
            way = (one.column, rank, _TYPES.get(type(one.dtype), int), times)
            ways.setdefault(name, []).append(way)
    return ways


def _told(attributes: Iterable[KeyValue], ways: _Ways) -> dict[str, object]:
    """The columns that attributes give: each from the first of its names that is there."""
    row: dict[str, object] = {}
    ranks: dict[str, int] = {}
    for attribute in attributes:
        value = attribute.value
        for column, rank, make, times in ways.get(attribute.key, ()):
            kind = value.WhichOneof("value")
            if kind is None or ranks.get(column, rank) < rank:
                continue
            try:
                made = make(getattr(value, kind))
            except (TypeError, ValueError):
                continue
            row[column] = made * times if times not in (0.0, 1.0) else made
            ranks[column] = rank
    return row

"""Lines, scanned by compiled code -> spans as they were found, and lines for the exact reader."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from tracemortem.sources import otlp_scan_json, otlp_scan_proto
from tracemortem.sources.attributes import Named
from tracemortem.sources.otlp_cells import Cells, cells
from tracemortem.sources.otlp_frames import Frame
from tracemortem.sources.otlp_plan import U8, Place, plan
from tracemortem.sources.otlp_spans import PLAIN, Found
from tracemortem.sources.otlp_tape import DIGITS, DOUBLE, INT64, JOINED, TEXT_CELL, TRUE, tape_for
from tracemortem.sources.otlp_wire import fields

_WHOLE = ("kind", "startTimeUnixNano", "endTimeUnixNano")
_FIELDS = {
    TEXT_CELL: "stringValue",
    INT64: "intValue",
    DIGITS: "doubleValue",
    DOUBLE: "doubleValue",
    TRUE: "boolValue",
    JOINED: "arrayValue",
}


def json_lines(text: bytes, first_line: int) -> tuple[list[Found], list[tuple[int, bytes]]]:
    """The spans of lines of JSON; and the lines, with their numbers, that may hold anything else."""
    text = text if text.endswith(b"\n") else text + b"\n"
    data, stops = np.frombuffer(text, np.uint8), _stops(text)
    found, left, start, number = [], [], 0, first_line
    while start < len(text):
        tape = tape_for(len(text) - start)
        start, number = otlp_scan_json.scan_json(data, stops, start, number, *plan().tables, *tape)
        scanned = cells(text, tape, plan())
        found.append(spans(scanned))
        left += [(line, text[begin:end]) for line, begin, end in scanned.left.tolist()]
    return found, left


def messages(frames: list[Frame]) -> tuple[list[Found], list[Frame]]:
    """The spans of messages of protobuf; and the frames that may hold anything else."""
    is_left = {frame.number for frame in frames if not frame.body or frame.is_json}
    whole = [frame for frame in frames if frame.number not in is_left]
    text = b"".join(frame.body for frame in whole)
    ends = np.cumsum([len(frame.body) for frame in whole], dtype=np.int64)
    begins = ends - np.diff(ends, prepend=0)
    places = np.stack((np.array([frame.number for frame in whole], dtype=np.int64), begins, ends), axis=1)
    data, found, first = np.frombuffer(text, np.uint8), [], 0
    tables = plan().tables
    while first < len(places):
        tape = tape_for(len(text) - int(begins[first]))
        first = otlp_scan_proto.scan_proto(data, places, first, fields(), tables.slots, tables.names, *tape)
        scanned = cells(text, tape, plan())
        found.append(spans(scanned))
        is_left.update(scanned.left[:, 0].tolist())
    return found, [frame for frame in frames if frame.number in is_left]


def spans(scanned: Cells) -> Found:
    """The spans in cells."""
    of_resource = plan().envelope.fields["resourceSpans"]
    resource = of_resource.fields[""].fields
    of_scope = resource["scopeSpans"]
    scope = of_scope.fields[""].fields
    of_span = scope["spans"]
    span = of_span.fields[""].fields
    scope_of = scanned.holder(of_span.number)
    resource_of = scanned.holder(of_scope.number)[scope_of]
    line = scanned.lines[scanned.holder(of_resource.number)[resource_of]]
    plain = [
        pl.Series("line", line.astype(np.uint64)),
        *(_plain(scanned, span[name], is_whole=name in _WHOLE).alias(name) for name in PLAIN),
        _plain(scanned, span["status"].fields["code"], is_whole=True).alias("status_code"),
        _plain(scanned, span["status"].fields["message"]).alias("status_message"),
        _plain(scanned, scope["scope"].fields["name"])[scope_of].alias("scope"),
    ]
    return Found(
        pl.DataFrame(plain),
        _named(scanned, span["attributes"]),
        _named(scanned, resource["resource"].fields["attributes"]),
        resource_of.astype(np.int64),
        int(scanned.height[of_resource.number]),
    )


def _plain(scanned: Cells, place: Place, *, is_whole: bool = False) -> pl.Series:
    kind, dtype = (INT64, pl.Int64()) if is_whole else (TEXT_CELL, pl.String())
    return scanned.only(place, kind, dtype)


def _named(scanned: Cells, place: Place) -> Named:
    found = {name: scanned.parts(of) for name, of in place.fields.items()}
    return {name: _by_field(parts) for name, parts in found.items() if parts}


def _by_field(parts: Mapping[int, pl.Series]) -> dict[str, pl.Series]:
    """The values of an attribute by the fields of an AnyValue they stood in."""
    return {
        _FIELDS[kind]: values.cast(pl.Float64) if kind == DIGITS else values for kind, values in parts.items()
    }


def _stops(text: bytes) -> U8:
    """Of each byte, whether it is anything but a plain part of a string."""
    stops = np.zeros(256, dtype=np.uint8)
    stops[:32] = 1
    stops[[ord('"'), ord("\\")]] = 1
    if not _is_utf8(text):  # the exact reader says what becomes of lines that are none
        stops[128:] = 1
    return stops


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True

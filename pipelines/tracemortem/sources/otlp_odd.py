"""OTLP envelopes written in some other way -> as the Collector writes them; line by line, if Arrow refuses.

Seen in real files: snake_case and old names, names of enums, 64-bit integers as numbers, "NaN", nulls,
Tempo's `batches`, structured log bodies. Ids in capitals or in base64 are put right later, column-wise.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import orjson

from tracemortem.sources.batch import EXCERPT, excerpt
from tracemortem.sources.otlp_shape import (
    ANY_VALUE,
    ATTRIBUTE,
    ENVELOPE,
    RECORDS,
    Attributes,
    Kind,
    Many,
    Message,
    Shape,
)
from tracemortem.sources.otlp_values import NotOtlpError, impossible, nested, scalar

WRAPPERS = ("result", "trace")  # Jaeger's API v3 and Tempo's v2 put the envelope into an object of one field


@dataclass(frozen=True)
class Lost:
    """What could not be read: a line, or a record in it. excerpt: how it begins."""

    line: int
    reason: str
    excerpt: str


_LostRecords = list[tuple[str, str]]  # why, and how the record begins
_Reader = Callable[[object, _LostRecords], object]


def canonical(lines: Iterable[tuple[int, bytes]]) -> tuple[list[int], list[object], list[Lost]]:
    """The numbers of lines that hold an envelope, the envelopes as the Collector writes them, what is lost.

    lines    (number, text without line end)
    returns  envelopes of the types of otlp_shape, fields not read left out. A line that is no JSON or no
             envelope is one Lost; so is each span, log record or data point with values of impossible types.
    """
    numbers, envelopes, lost = [], [], []
    for number, line in lines:
        records: _LostRecords = []
        try:
            envelope = _envelope_reader()(unwrapped(_loaded(line)), records)
        except (NotOtlpError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            lost.append(Lost(number, reason, excerpt(line)))
        else:
            numbers.append(number)
            envelopes.append(envelope)
            lost += [Lost(number, reason, excerpt) for reason, excerpt in records]
    return numbers, envelopes, lost


def _loaded(line: bytes) -> object:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        # json alone takes NaN and halves of surrogate pairs; bytes that are no UTF-8 become U+FFFD
        try:
            return json.loads(line.decode("utf-8", "replace"))
        except ValueError:
            raise NotOtlpError(f"not JSON: {error}") from None


def unwrapped(found: object) -> dict[object, object]:
    """The envelope in what was parsed, or in an object around it; raises NotOtlpError where there is none."""
    names = {*ENVELOPE.fields, *ENVELOPE.others}
    if isinstance(found, dict):
        for name in ("", *WRAPPERS):
            inner = found.get(name, found)
            if isinstance(inner, dict) and not names.isdisjoint(inner):
                return inner
    raise NotOtlpError(f"not an OTLP envelope: it has none of {', '.join(ENVELOPE.fields)}")


@cache
def _envelope_reader() -> _Reader:
    return _reader(ENVELOPE, "the envelope")


def _reader(shape: Shape, name: str) -> _Reader:
    """What puts a value of this shape, in a field of this name, into the Collector's writing."""
    if isinstance(shape, Message):
        return _message_reader(shape, name)
    if isinstance(shape, Many):
        return _list_reader(_reader(shape.of, name), name)
    if isinstance(shape, Attributes):
        return _list_reader(_reader(ATTRIBUTE, name), name)
    if shape is Kind.LABEL:
        return _label_reader(name)
    if shape is Kind.ATTRIBUTE:
        return _message_reader(ANY_VALUE, name)
    read = scalar(shape)
    return lambda found, _: read(found, name)


def _message_reader(shape: Message, name: str) -> _Reader:
    fields = {field: (field, _reader(of, field)) for field, of in shape.fields.items()}
    fields |= {other: fields[field] for other, field in shape.others.items()}

    def read(found: object, lost: _LostRecords) -> dict[str, object]:
        if not isinstance(found, dict):
            raise impossible(found, name, "an object")
        message = {}
        for spelling, value in found.items():
            if value is not None and spelling in fields:
                field, reader = fields[spelling]
                message[field] = reader(value, lost)
        return message

    return read


def _label_reader(name: str) -> _Reader:
    plain = _message_reader(ANY_VALUE, name)

    def read(found: object, lost: _LostRecords) -> object:
        text = nested(found, name)
        return plain(found, lost) if text is None else {"stringValue": text}

    return read


def _list_reader(reader: _Reader, name: str) -> _Reader:
    def read(found: object, lost: _LostRecords) -> list[object]:
        if not isinstance(found, list):
            raise impossible(found, name, "a list")
        return [None if item is None else reader(item, lost) for item in found]

    def read_records(found: object, lost: _LostRecords) -> list[object]:
        if not isinstance(found, list):
            raise impossible(found, name, "a list")
        records: list[object] = []
        for item in found:
            try:
                records.append(None if item is None else reader(item, lost))
            except NotOtlpError as error:
                lost.append((str(error), json.dumps(item)[:EXCERPT]))
        return records

    return read_records if name in RECORDS else read

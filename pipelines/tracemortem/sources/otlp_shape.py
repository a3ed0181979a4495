"""What an OTLP envelope looks like: the fields we read, declared once for the fast and for the exact path.

Arrow's JSON reader ignores fields it does not know, as OTLP asks. So every other spelling of a field we do
know (snake_case, names of before OTLP 0.15) is declared as well, as a field that holds nothing: where one
holds something, Arrow refuses the text and the exact path reads it. Thus nothing is lost by its name.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

import pyarrow as pa


class Kind(Enum):
    """How the Collector writes a value."""

    TEXT = auto()  # a string
    ID = auto()  # bytes, which OTLP writes as a string of hex digits
    COUNT = auto()  # a 64-bit integer, as a string
    INT = auto()  # a 32-bit integer or an enum, as a number
    REAL = auto()  # a number
    FLAG = auto()  # true or false
    ATTRIBUTE = auto()  # an AnyValue of which only scalars and lists of strings are wanted
    LABEL = auto()  # an AnyValue that is wanted whatever it holds


@dataclass(frozen=True)
class Many:
    """A list."""

    of: "Shape"


@dataclass(frozen=True)
class Message:
    """An object. others: names a field goes by that are not the Collector's -> the Collector's."""

    fields: Mapping[str, "Shape"]
    others: Mapping[str, str]


@dataclass(frozen=True)
class Attributes:
    """A list of attributes of which those are read that a record wants.

    record   whose columns want them
    is_own   what is declared as `from:` is wanted; else, of a resource, what is declared as `labels:`
    """

    record: str
    is_own: bool = False


Shape: TypeAlias = Kind | Many | Message | Attributes

_FORMER = {
    "instrumentationLibrary": "scope",
    "instrumentationLibrarySpans": "scopeSpans",
    "instrumentationLibraryMetrics": "scopeMetrics",
    "instrumentationLibraryLogs": "scopeLogs",
    "deprecatedScopeSpans": "scopeSpans",
    "deprecatedScopeMetrics": "scopeMetrics",
    "deprecatedScopeLogs": "scopeLogs",
    "batches": "resourceSpans",  # Tempo's name for them
    "intGauge": "gauge",
    "doubleGauge": "gauge",
    "intSum": "sum",
    "doubleSum": "sum",
    "intHistogram": "histogram",
    "doubleHistogram": "histogram",
    "doubleSummary": "summary",
}


def _snake(name: str) -> str:
    return re.sub(r"(?=[A-Z])", "_", name).lower()


def _message(**fields: Shape) -> Message:
    former = {old: name for old, name in _FORMER.items() if name in fields}
    snake = {_snake(old): name for old, name in {**{name: name for name in fields}, **former}.items()}
    return Message(fields, {old: name for old, name in {**snake, **former}.items() if old not in fields})


_STRINGS = _message(values=Many(_message(stringValue=Kind.TEXT)))
ANY_VALUE = _message(
    stringValue=Kind.TEXT,
    intValue=Kind.COUNT,
    doubleValue=Kind.REAL,
    boolValue=Kind.FLAG,
    arrayValue=_STRINGS,
)
# every spelling of every kind an AnyValue can be of; the last two are never read as they are
VALUE_KINDS: Mapping[str, str] = {
    **{kind: kind for kind in ANY_VALUE.fields},
    **ANY_VALUE.others,
    "kvlistValue": "kvlistValue",
    "kvlist_value": "kvlistValue",
    "bytesValue": "bytesValue",
    "bytes_value": "bytesValue",
}

ATTRIBUTE = _message(key=Kind.TEXT, value=Kind.ATTRIBUTE)
_LABELS = Many(_message(key=Kind.TEXT, value=Kind.LABEL))
_SCOPE = _message(name=Kind.TEXT)
_SPAN = _message(
    traceId=Kind.ID,
    spanId=Kind.ID,
    parentSpanId=Kind.ID,
    name=Kind.TEXT,
    kind=Kind.INT,
    startTimeUnixNano=Kind.COUNT,
    endTimeUnixNano=Kind.COUNT,
    attributes=Attributes("span", is_own=True),
    status=_message(message=Kind.TEXT, code=Kind.INT),
)
_LOG = _message(
    timeUnixNano=Kind.COUNT,
    observedTimeUnixNano=Kind.COUNT,
    severityNumber=Kind.INT,
    severityText=Kind.TEXT,
    body=Kind.LABEL,
    traceId=Kind.ID,
    spanId=Kind.ID,
)
_POINT: Mapping[str, Shape] = {"attributes": _LABELS, "timeUnixNano": Kind.COUNT, "flags": Kind.INT}
_TOTAL: Mapping[str, Shape] = {**_POINT, "count": Kind.COUNT, "sum": Kind.REAL}
_NUMBERS = Many(_message(**_POINT, asDouble=Kind.REAL, asInt=Kind.COUNT))
_TOTALS = Many(_message(**_TOTAL))
_BUCKETS = Many(_message(**_TOTAL, bucketCounts=Many(Kind.COUNT), explicitBounds=Many(Kind.REAL)))
_METRIC = _message(
    name=Kind.TEXT,
    unit=Kind.TEXT,
    gauge=_message(dataPoints=_NUMBERS),
    sum=_message(dataPoints=_NUMBERS, aggregationTemporality=Kind.INT, isMonotonic=Kind.FLAG),
    histogram=_message(dataPoints=_BUCKETS, aggregationTemporality=Kind.INT),
    exponentialHistogram=_message(dataPoints=_TOTALS, aggregationTemporality=Kind.INT),
    summary=_message(dataPoints=_TOTALS),
)
_TRACES = _message(
    resource=_message(attributes=Attributes("span")),
    scopeSpans=Many(_message(scope=_SCOPE, spans=Many(_SPAN))),
)
_METRICS = _message(
    resource=_message(attributes=_LABELS),
    scopeMetrics=Many(_message(scope=_SCOPE, metrics=Many(_METRIC))),
)
_LOGS = _message(
    resource=_message(attributes=Attributes("log")),
    scopeLogs=Many(_message(scope=_SCOPE, logRecords=Many(_LOG))),
)
ENVELOPE = _message(resourceSpans=Many(_TRACES), resourceMetrics=Many(_METRICS), resourceLogs=Many(_LOGS))
RECORDS = frozenset({"spans", "logRecords", "dataPoints"})

_TYPES: Mapping[Kind, pa.DataType] = {
    Kind.TEXT: pa.string(),
    Kind.ID: pa.string(),
    Kind.COUNT: pa.string(),
    Kind.INT: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.FLAG: pa.bool_(),
}


def arrow(shape: Shape) -> pa.DataType:
    """The Arrow type of a shape; names that are not the Collector's are of type null and may hold nothing."""
    if isinstance(shape, Many):
        return pa.list_(arrow(shape.of))
    if isinstance(shape, Attributes):
        return pa.list_(arrow(ATTRIBUTE))
    if shape is Kind.ATTRIBUTE:
        # No guard against other spellings here: a field that is absent costs Arrow 0.14 us, and there are ten
        # attributes to a span. attributes.unread finds what this misses.
        return arrow(Message(ANY_VALUE.fields, {}))
    if shape is Kind.LABEL:
        strings = Message({"values": Many(_guarded({"stringValue": Kind.TEXT}))}, {})
        return arrow(_guarded({**ANY_VALUE.fields, "arrayValue": strings}))
    if isinstance(shape, Message):
        known = [(name, arrow(field)) for name, field in shape.fields.items()]
        return pa.struct(known + [(other, pa.null()) for other in shape.others])
    return _TYPES[shape]


def _guarded(fields: Mapping[str, Shape]) -> Message:
    """An AnyValue that may be of no other kind: of those the exact path makes a text."""
    return Message(fields, {kind: kind for kind in VALUE_KINDS if kind not in fields})

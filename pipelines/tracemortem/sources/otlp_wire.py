"""OTLP's traces in protobuf's wire format as tables of numbers, for the compiled scanner of protobuf.

What a message may hold is told by the descriptors of opentelemetry-proto, what of it is read and into which
column by the plan: both are joined by the fields' JSON names. What is not read is in the tables too, since a
message in which it is malformed is refused as a whole.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tracemortem.sources.otlp_plan import CURRENT, UNREAD, Place, plan
from tracemortem.sources.otlp_shape import ENVELOPE, Attributes, Kind, Many, Message, Shape

# types of the wire format; NO_FIELD: there is no field of this number
VARINT, FIXED64, SIZED, FIXED32, NO_FIELD = 0, 1, 2, 5, 255
# what is done with a field: passed over, held to be UTF-8, or written as what; from ENTERED on it is entered
PASSED, CHECKED, TEXTS, IDS, NAMES, PARTS, WHOLES, REALS, FLAGS, STARTS, ENTERED, ATTRIBUTES, LISTS = range(
    13
)
ENUM, SIGNED, UNSIGNED = 4, 8, 9  # bytes of an integer, one more where it has no sign
FIELDS = 32  # numbers from here on are of no field
ROOT = 0

_WIRES: Mapping[int, int] = {
    FieldDescriptor.TYPE_DOUBLE: FIXED64,
    FieldDescriptor.TYPE_FIXED64: FIXED64,
    FieldDescriptor.TYPE_FIXED32: FIXED32,
    FieldDescriptor.TYPE_STRING: SIZED,
    FieldDescriptor.TYPE_BYTES: SIZED,
    FieldDescriptor.TYPE_MESSAGE: SIZED,
}
_FORMS: Mapping[int, int] = {
    FieldDescriptor.TYPE_ENUM: ENUM,
    FieldDescriptor.TYPE_INT64: SIGNED,
    FieldDescriptor.TYPE_FIXED64: UNSIGNED,
}
_WRITTEN: Mapping[Shape, int] = {
    Kind.TEXT: TEXTS,
    Kind.ID: IDS,
    Kind.COUNT: WHOLES,
    Kind.INT: WHOLES,
    Kind.REAL: REALS,
    Kind.FLAG: FLAGS,
}
_OF_VALUE: Mapping[str, int] = {
    "stringValue": TEXTS,
    "intValue": WHOLES,
    "doubleValue": REALS,
    "boolValue": FLAGS,
    "arrayValue": LISTS,
}
_ID_SIZES: Mapping[str, int] = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


class Field(NamedTuple):
    """A field of a message.

    wire    its type;  done: what is done with it
    to      where it is written: a column, or CURRENT; of NAMES the owner of attributes' names
    node    what is entered
    level   whose row the message entered is; -1: of none
    form    of an integer as above; how many bytes an id has
    bit     of what may be there once only, of its kind; else 0
    given   whether it is written even where it is zero or empty
    """

    wire: int = NO_FIELD
    done: int = PASSED
    to: int = UNREAD
    node: int = 0
    level: int = -1
    form: int = 0
    bit: int = 0
    given: int = 0


@cache
def fields() -> npt.NDArray[np.int32]:
    """Of each message, ROOT first, and each number of a field: the numbers of Field."""
    builder = _Builder()
    builder.message(TracesData.DESCRIPTOR, ENVELOPE, plan().envelope)
    return np.array(builder.nodes, dtype=np.int32)


class _Builder:
    def __init__(self) -> None:
        self.nodes: list[list[Field]] = []
        self._passed: dict[str, int] = {}

    def message(self, of: Descriptor, shape: Message, place: Place) -> int:
        """A message that is read as far as the place has its fields."""
        node = self._node()
        for field in of.fields:
            name = field.json_name
            inner = place.fields.get(name)
            self._set(
                node, field, self._read(field, shape.fields[name], inner) if inner else self._plain(field)
            )
        return node

    def _read(self, field: FieldDescriptor, shape: Shape, place: Place) -> Field:
        plain = self._plain(field)
        if isinstance(shape, Attributes):
            return plain._replace(done=ATTRIBUTES, node=self._attribute(field.message_type, place.number))
        if isinstance(shape, Message):
            return plain._replace(node=self.message(field.message_type, shape, place))
        if isinstance(shape, Many):
            assert isinstance(shape.of, Message)
            node = self.message(field.message_type, shape.of, place.fields[""])
            return plain._replace(node=node, level=place.number)
        done = STARTS if field.json_name == "startTimeUnixNano" else _WRITTEN[shape]
        form = _ID_SIZES.get(field.json_name, plain.form)
        return plain._replace(done=done, to=place.number, form=form)

    def _attribute(self, of: Descriptor, owner: int) -> int:
        """An attribute, of which the value is read if its name is that of a column."""
        node = self._node()
        for field in of.fields:
            made = self._plain(field)
            if field.json_name == "key":
                made = made._replace(done=NAMES, to=owner)
            elif field.json_name == "value":
                made = made._replace(node=self._value(field.message_type))
            self._set(node, field, made)
        return node

    def _value(self, of: Descriptor) -> int:
        node = self._node()
        for field in of.fields:
            made = self._plain(field)
            if field.json_name == "arrayValue":
                made = made._replace(node=self._items(field.message_type))
            self._set(node, field, made._replace(done=_OF_VALUE.get(field.json_name, made.done), to=CURRENT))
        return node

    def _items(self, of: Descriptor) -> int:
        """A list, of which the strings are read."""
        node, item, (values,) = self._node(), self._node(), of.fields
        for field in values.message_type.fields:
            made = self._plain(field)
            self._set(item, field, made._replace(done=PARTS) if field.json_name == "stringValue" else made)
        self._set(node, values, self._plain(values)._replace(node=item))
        return node

    def _plain(self, field: FieldDescriptor) -> Field:
        """A field of which nothing is read."""
        wire = _WIRES.get(field.type, VARINT)
        made = Field(wire, given=field.has_presence, form=_FORMS.get(field.type, 0))
        if field.message_type:
            return made._replace(done=ENTERED, node=self._plain_message(field.message_type))
        if field.type == FieldDescriptor.TYPE_STRING:
            return made._replace(done=CHECKED)
        return made

    def _plain_message(self, of: Descriptor) -> int:
        """A message of which nothing is read; it may hold others of its own kind."""
        if of.full_name not in self._passed:
            self._passed[of.full_name] = node = self._node()
            for field in of.fields:
                self.nodes[node][field.number] = self._plain(field)
        return self._passed[of.full_name]

    def _node(self) -> int:
        self.nodes.append([Field()] * FIELDS)
        return len(self.nodes) - 1

    def _set(self, node: int, field: FieldDescriptor, made: Field) -> None:
        """Set a field that may be there once, as one of a oneof may, or that is a list."""
        first = field.containing_oneof.fields[0] if field.containing_oneof else field
        self.nodes[node][field.number] = made._replace(bit=0 if field.is_repeated else 1 << first.number)

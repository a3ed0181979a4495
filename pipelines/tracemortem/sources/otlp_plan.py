"""The shape of OTLP's traces as tables of numbers, for the compiled scanners of JSON and of protobuf.

A node is a place in the shape: a message, a list, a value. Each list of messages is a level, its items are
rows of it; each value is a column of the level it stands in, and so is each attribute that the span record
wants. Keys are found in one hash table, and always compared byte by byte.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tracemortem.sources import attributes
from tracemortem.sources.otlp_shape import ANY_VALUE, ENVELOPE, Attributes, Kind, Many, Message, Shape

I32 = npt.NDArray[np.int32]
U8 = npt.NDArray[np.uint8]

# sorts of nodes; KEYED is an attribute, ANY its value, STRINGS the list in a value, of which no rows are made
SKIP, MESSAGE, LIST, VALUE, KEYED, ANY, STRINGS = range(7)
# what a VALUE node holds, as declared in otlp_shape
TEXT, ID, COUNT, INT, REAL, FLAG = range(1, 7)
# columns that have no number: not read; of the attribute at hand; a part of STRINGS; an attribute's name
UNREAD, CURRENT, PART, NAME = -1, -2, -3, -4
ODD = -1  # what a key leads to that only the exact reader understands
ROOT = 1  # the node of the envelope

_HOLDS = {
    Kind.TEXT: TEXT, Kind.ID: ID, Kind.COUNT: COUNT, Kind.INT: INT, Kind.REAL: REAL, Kind.FLAG: FLAG,
}  # fmt: skip


# rows of Tables.nodes and of Tables.slots
SORT, HOLDS, COLUMN, ITEM, LEVEL = range(5)
OWNER, AT, SIZE, TARGET, BIT = range(5)


class Tables(NamedTuple):
    """What the scanners walk by.

    nodes   SORT; of a VALUE what it HOLDS, and the COLUMN it is written to; of a LIST or STRINGS node its
            ITEM's node, of the name of an attribute the owner of the names that are read; of a LIST node
            the LEVEL whose rows its items are, -1 for a list of attributes
    slots   a hash table of keys: OWNER (a node; -2 and below: a set of names), AT and SIZE in `names` (SIZE
            is -1 where a slot is free), TARGET (a node or ODD; of a set of names a column), and the target's
            BIT among those of its owner
    names   the bytes of all keys
    """

    nodes: I32
    slots: I32
    names: U8


@dataclass(frozen=True)
class Place:
    """A shape and its numbers.

    number   of a value its column, of a list its level, of attributes the owner of their names
    fields   of a message by name; of a list its items, as ""; of attributes the columns by name
    """

    number: int = UNREAD
    fields: Mapping[str, "Place"] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """The tables, and the places in the shape that their numbers stand for.

    parent  of each level: the level of the rows that hold its lists
    within  of each column: its level
    """

    tables: Tables
    envelope: Place
    parent: I32
    within: I32


def key_slot(text: U8, at: int, size: int, owner: int, slots: int) -> int:
    """Where in a hash table to begin looking for a key, not empty, of an owner.

    slots   how many there are: a power of 2

    Of four bytes and the size: attributes' names have long common beginnings.
    """
    first, last = int(text[at]), int(text[at + size - 1])
    middle, late = int(text[at + size // 2]), int(text[at + size * 3 // 4])
    return (size * 37 + first * 3 + middle * 131 + late * 1031 + last * 8209 + owner * 7919) & (slots - 1)


@cache
def plan() -> Plan:
    """The plan of the traces in otlp_shape.ENVELOPE; metrics and logs are for the exact reader."""
    traces = {"resourceSpans": ENVELOPE.fields["resourceSpans"]}
    others = {*ENVELOPE.others, *ENVELOPE.fields} - traces.keys()
    builder = _Builder()
    _, envelope = builder.add(Message(traces, dict.fromkeys(others, "")), 0)
    levels, columns = (np.array(one, dtype=np.int32) for one in (builder.parent, builder.within))
    return Plan(builder.tables(), envelope, levels, columns)


class _Builder:
    def __init__(self) -> None:
        self.nodes: list[list[int]] = []
        self.parent: list[int] = []
        self.within: list[int] = []
        self.keys: list[tuple[int, bytes, int, int]] = []  # owner, key, target, bit
        self.node(SKIP)
        self.new_level(-1)

    def node(self, sort: int, *, holds: int = 0, column: int = UNREAD, level: int = -1) -> int:
        self.nodes.append([sort, holds, column, 0, level])
        return len(self.nodes) - 1

    def list_of(self, node: int, item: int) -> None:
        self.nodes[node][ITEM] = item

    def new_level(self, parent: int) -> int:
        self.parent.append(parent)
        return len(self.parent) - 1

    def new_column(self, level: int) -> int:
        self.within.append(level)
        return len(self.within) - 1

    def add(self, shape: Shape, level: int) -> tuple[int, Place]:
        """The node of a shape that stands in rows of a level, and all below it."""
        if isinstance(shape, Message):
            node = self.node(MESSAGE)
            below = {name: self.add(of, level) for name, of in shape.fields.items()}
            self.add_keys(node, {name: at for name, (at, _) in below.items()}, shape.others)
            return node, Place(fields={name: place for name, (_, place) in below.items()})
        if isinstance(shape, Many):
            own = self.new_level(level)
            node = self.node(LIST, level=own)
            item, place = self.add(shape.of, own)
            self.list_of(node, item)
            return node, Place(own, {"": place})
        if isinstance(shape, Attributes):
            return self.add_attributes(shape, level)
        column = self.new_column(level)
        return self.node(VALUE, holds=_HOLDS[shape], column=column), Place(column)

    def add_attributes(self, shape: Attributes, level: int) -> tuple[int, Place]:
        columns = {name: self.new_column(level) for name in attributes.names(shape)}
        owner = -2 - len(self.nodes)
        self.keys += [(owner, name.encode(), column, 0) for name, column in columns.items()]
        node, item, key = self.node(LIST), self.node(KEYED), self.node(VALUE, holds=TEXT, column=NAME)
        self.list_of(node, item)
        self.list_of(key, owner)
        self.add_keys(item, {"key": key, "value": self.add_any()}, ())
        return node, Place(owner, {name: Place(column) for name, column in columns.items()})

    def add_any(self) -> int:
        """The value of an attribute."""
        node = self.node(ANY, column=CURRENT)
        kinds = {name: self.add_kind(shape) for name, shape in ANY_VALUE.fields.items()}
        self.add_keys(node, kinds, ANY_VALUE.others)
        return node

    def add_kind(self, shape: Shape, column: int = CURRENT) -> int:
        if isinstance(shape, Message):
            node = self.node(MESSAGE)
            below = {name: self.add_kind(of, column) for name, of in shape.fields.items()}
            self.add_keys(node, below, shape.others)
            return node
        if isinstance(shape, Many):
            node = self.node(STRINGS, column=column)
            self.list_of(node, self.add_kind(shape.of, PART))
            return node
        assert isinstance(shape, Kind)
        return self.node(VALUE, holds=_HOLDS[shape], column=column)

    def add_keys(self, node: int, targets: Mapping[str, int], odd: Iterable[str]) -> None:
        self.keys += [(node, name.encode(), at, bit) for bit, (name, at) in enumerate(targets.items())]
        self.keys += [(node, name.encode(), ODD, 0) for name in odd]

    def tables(self) -> Tables:
        names = np.frombuffer(b"".join(key for _, key, _, _ in self.keys), dtype=np.uint8)
        slots = 1 << (8 * len(self.keys)).bit_length()  # an eighth full at most: few keys share a slot
        table = np.full((5, slots), -1, dtype=np.int32)
        at = 0
        for owner, key, target, bit in self.keys:
            slot = key_slot(names, at, len(key), owner, slots)
            while table[SIZE, slot] >= 0:
                slot = (slot + 1) & (slots - 1)
            table[:, slot] = owner, at, len(key), target, bit
            at += len(key)
        return Tables(np.array(self.nodes, dtype=np.int32).T.copy(), table, names)

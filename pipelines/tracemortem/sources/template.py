"""The pattern of a text format as a template: literals and the fields between them, for a compiled walk.

Only patterns that can match a line in one way become templates, and what a template reads is what the pattern
reads. It need not read all of that: a line it leaves (several upstreams, odd bytes) is left to the pattern.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

RUN, DECIMAL, LISTED, FIXED, QUOTED, UNTIL, JSON = range(7)
NO_NULL, WHOLE, ESCAPES = 1, 2, 4
_DIGITS = frozenset(b"0123456789")
_GRAPH = frozenset(range(0x21, 0x7F))  # beyond ASCII there are blanks too: the pattern knows them
_ALL = frozenset(range(256)) - {ord("\n")}
_OF_MASK = {
    "d": _DIGITS,
    "a": frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
    "s": frozenset(b"+-"),
}
_END = r"[ \t]*$"
_LITERAL = re.compile(r"\\([^A-Za-z0-9])|([^\\.+*?()|\[\]{}^$])")
_GROUP = re.compile(r"\(\?(?:P<(?P<name>\w+)>|:)")


@dataclass(frozen=True)
class Shape:
    """What may stand in a field, and how its end is found.

    RUN      bytes of a class, at least so many
    DECIMAL  digits, and maybe a point and digits
    LISTED   the one entry of what may be a list: with least = 1 a decimal, - or nothing, else a run
    FIXED    a byte of a class for each place of the mask
    QUOTED   up to the next quote that is not escaped
    UNTIL    up to where the literal after it stands first; with least = 1 not beyond a quote or an escape
    JSON     a text, its quotes aside; a number without sign and exponent, true or false; null, as nothing.
             In least: NO_NULL, numbers must be WHOLE, texts may have ESCAPES (but for code points)
    """

    mode: int
    allowed: frozenset[int] = frozenset()
    least: int = 0
    mask: str = ""

    def ends_before(self, literal: bytes) -> bool:
        """Whether a field of this shape before the literal can end in one place only."""
        first = literal[:1]
        if self.mode == RUN:
            return literal[0] not in self.allowed if first else not self.allowed & frozenset(b" \t")
        if self.mode == DECIMAL:
            return first not in {b"%c" % digit for digit in b"0123456789."} or not first
        if self.mode == LISTED:
            inside = self.allowed or frozenset(b"0123456789.-")
            return not first or (literal[0] not in inside and not literal.startswith((b",", b" :")))
        if self.mode == QUOTED:
            return first == b'"'
        return self.mode == FIXED or bool(first) or not self.least


_QUOTED = r'(?:[^"\\]|\\.)*'
_ENTRIES = r"(?:(?:, | : )"
# the shapes of nginx_variables.yaml, apache_directives.yaml and formats/*.yaml that end in one place
SHAPES = {
    r"[0-9]+": Shape(RUN, _DIGITS, 1),
    r"[0-9]+|-": Shape(RUN, _DIGITS, 1),
    r"[0-9]{3}|-": Shape(FIXED, mask="ddd"),
    r"[0-9]+(?:\.[0-9]+)?": Shape(DECIMAL),
    r"[0-9]+(?:\.[0-9]+)?|-|": Shape(LISTED, least=1),
    rf"(?:[0-9.]+|-){_ENTRIES}(?:[0-9.]+|-))*|": Shape(LISTED, least=1),
    rf'[^ ",]+{_ENTRIES}[^ ",]+)*|': Shape(LISTED, _GRAPH - frozenset(b'",')),
    r"\S+": Shape(RUN, _GRAPH, 1),
    r'[^\s,"]+': Shape(RUN, _GRAPH - frozenset(b',"'), 1),
    r'[^\s/"]*': Shape(RUN, _GRAPH - frozenset(b'/"')),
    r"[^\]]*": Shape(RUN, _ALL - frozenset(b"]")),
    r'[^"]*': Shape(RUN, _ALL - frozenset(b'"')),
    r"[0-9]{2}/[A-Za-z]{3}/[0-9]{4}:[0-9]{2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4}": Shape(
        FIXED, mask="dd/aaa/dddd:dd:dd:dd sdddd"
    ),
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[+-][0-9]{2}:[0-9]{2}": Shape(
        FIXED, mask="dddd-dd-ddTdd:dd:ddsdd:dd"
    ),
    _QUOTED: Shape(QUOTED),
    f"{_QUOTED}?": Shape(UNTIL, least=1),
    r".*?": Shape(UNTIL),
}  # fmt: skip
_LONGEST_FIRST = sorted(SHAPES, key=len, reverse=True)


@dataclass(frozen=True)
class Template:
    """The arrays that the walk takes, as described at walk.fields, and the names of the groups it gives."""

    groups: tuple[str, ...]
    literals: NDArray[np.uint8]
    literal_at: NDArray[np.int32]
    parts: NDArray[np.int32]
    classes: NDArray[np.bool_]
    masks: NDArray[np.uint8]


@cache
def template(pattern: str) -> Template | None:
    """The template of a pattern; None where it has none, and every line is for the pattern."""
    taken = _taken(pattern)
    if taken is None:
        return None
    literals, fields = taken
    if not all(
        shape.ends_before(after) and (after or number == len(fields) - 1)
        for number, ((_, shape), after) in enumerate(zip(fields, literals[1:], strict=True))
    ):
        return None
    return arrays(literals, fields)


def _taken(pattern: str) -> tuple[list[bytes], list[tuple[str | None, Shape]]] | None:
    """The literals and, between them, the fields with their groups; None where something else is in it."""
    if not pattern.startswith("^") or not pattern.endswith(_END):
        return None
    text = pattern[1 : -len(_END)]
    literals, fields = [b""], []
    place = 0
    while place < len(text):
        group = _GROUP.match(text, place)
        begin = group.end() if group else place
        shape = next((shape for shape in _LONGEST_FIRST if text.startswith(shape, begin)), None)
        if group and shape is not None and text[begin + len(shape) :].startswith(")"):
            fields.append((group["name"], SHAPES[shape]))
            place = begin + len(shape) + 1
        elif bare := next((s for s in _LONGEST_FIRST if "|-" not in s and text.startswith(s, place)), None):
            fields.append((None, SHAPES[bare]))
            place += len(bare)
        elif literal := _LITERAL.match(text, place):
            literals[-1] += (literal[1] or literal[2]).encode()
            place = literal.end()
            continue
        else:
            return None
        literals.append(b"")
    return (literals, fields) if fields else None


def arrays(literals: Sequence[bytes], fields: Sequence[tuple[str | None, Shape]]) -> Template:
    """The template of fields, with their groups, and the literals before, between and behind them."""
    classes: list[frozenset[int]] = [frozenset()]
    masks, parts = bytearray(), []
    groups = [name for name, _ in fields if name]

    def number(allowed: frozenset[int]) -> int:
        if allowed not in classes:
            classes.append(allowed)
        return classes.index(allowed)

    for name, shape in fields:
        column = groups.index(name) if name else -1
        of, least = number(shape.allowed), shape.least
        if shape.mode == FIXED:
            of, least = len(masks), len(shape.mask)
            masks += bytes(number(_OF_MASK.get(one, frozenset(one.encode()))) for one in shape.mask)
        parts.append((shape.mode, of, least, column))
    table = np.zeros((len(classes), 256), np.bool_)
    for row, allowed in enumerate(classes):
        table[row, sorted(allowed)] = True
    return Template(
        tuple(groups),
        np.frombuffer(b"".join(literals), np.uint8),
        np.cumsum([0, *map(len, literals)], dtype=np.int32),
        np.array(parts, np.int32),
        table,
        np.frombuffer(bytes(masks), np.uint8),
    )

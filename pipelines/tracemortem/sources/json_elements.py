"""The objects and lists at one depth of a JSON text, one after another: a document is never held whole."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from tracemortem.sources.blocks import BLOCK, LONGEST

_Positions = npt.NDArray[np.int64]
_QUOTE, _LINE_END = 0x22, 0x0A
_STEP = np.zeros(256, dtype=np.int8)
_STEP[[0x7B, 0x5B]] = 1  # { [
_STEP[[0x7D, 0x5D]] = -1  # } ]
_INDENTATION = re.compile(rb"\n[ \t]+")
_INDENTED = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{[^\n]*\n[ \t]")
_SHOWN = 800  # bytes kept of what is not whole
_BETWEEN = b" \t\r\n\0,\xef\xbb\xbf"  # NULs are what copytruncate leaves, the last three a byte order mark


@dataclass(frozen=True)
class Element:
    """An object or a list of the text.

    line   where it begins, from 1
    text   it, whole; where there is a fault, how it begins
    end    how many bytes of the stream lie before its end
    fault  why it is not whole; "" where it is
    """

    line: int
    text: bytes
    end: int
    fault: str = ""


def elements(
    stream: BinaryIO, depth_of: Callable[[bytes], int], size: int = BLOCK, longest: int = LONGEST
) -> Iterator[Element]:
    """The objects and lists that stand in so many others, in order.

    depth_of  tells of the first chunk in how many: 0 for the documents themselves
    longest   what is longer, most of its indentation taken off, is not held, and given with a fault
    returns   beside them what the text, or a line of JSON lines, ends within; and of depth 0 each line with
              something else between documents. Deeper, numbers and texts beside the elements are left out.

    Where the first document ends on its line, or is an object whose lines are indented, each line that begins
    with a bracket begins a document: so one that is not whole costs its neighbours nothing. Brackets in
    strings do not count, and no string of JSON holds a line end.
    """
    first = stream.read(size)
    depth, state = depth_of(first), _State(is_renewed=True if _INDENTED.match(first) else None)
    read, line = 0, 1
    begun: _Begun | None = None
    between = b""
    chunk = first
    while chunk:
        line_ends, edges = _edges(chunk, state, depth)
        place = 0
        for at, is_start in edges:
            if begun is not None:
                begun.add(chunk[place:at], longest)
                yield begun.element(read + at, longest, "it ends before its end" if is_start else "")
                begun, place = None, at
            if is_start:
                here = line + int(np.searchsorted(line_ends, at))
                if depth == 0:
                    yield from _junk(between + chunk[place:at], here, read + at)
                    between = b""
                begun = _Begun(here)
            place = at
        if begun is not None:
            begun.add(chunk[place:], longest)
        elif depth == 0:
            between = (between + chunk[place:]).lstrip(_BETWEEN)[:longest]
        read, line = read + len(chunk), line + len(line_ends)
        chunk = stream.read(size)
    if begun is not None:
        yield begun.element(read, longest, "the text ends within it")
    elif depth == 0:
        yield from _junk(between, line, read)
    elif state.depth:
        yield Element(line, b"", read, "the text ends before the document does")


@dataclass
class _State:
    """Where in the text a chunk begins: how deep, whether inside a string and behind a backslash.

    is_renewed   whether a line that begins with a bracket begins a document; None: not known yet
    is_at_line   whether a line begins
    """

    depth: int = 0
    is_inside: bool = False
    is_escaped: bool = False
    is_renewed: bool | None = None
    is_at_line: bool = True


@dataclass
class _Begun:
    """An element whose end is not reached yet."""

    line: int
    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, part: bytes, longest: int) -> None:
        if self.size + len(part) > longest // 4:  # a large element may be half indentation
            part = _INDENTATION.sub(b"\n", part)
        self.size += len(part)
        self.parts.append(part)
        if self.size > longest:
            self.parts = [b"".join(self.parts)[:_SHOWN]]

    def element(self, end: int, longest: int, fault: str) -> Element:
        if self.size > longest:
            fault = f"longer than {longest >> 20} MiB"
        text = b"".join(self.parts)
        return Element(self.line, text[:_SHOWN] if fault else text, end, fault)


def _junk(between: bytes, last_line: int, end: int) -> Iterator[Element]:
    """What stands before a document, or after the last; last_line: the line on which it ends."""
    lines = between.split(b"\n")
    for number, found in enumerate(lines, last_line - len(lines) + 1):
        if text := found.strip(_BETWEEN):
            yield Element(number, text[:_SHOWN], end, "not JSON")


def _edges(chunk: bytes, state: _State, depth: int) -> tuple[_Positions, list[tuple[int, bool]]]:
    """Where lines end, and where elements begin (True) and end: the place behind the last bracket."""
    plain = b"_" + chunk[1:] if state.is_escaped else chunk
    if b"\\" in plain:
        plain = plain.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    state.is_escaped = plain.endswith(b"\\")
    text = np.frombuffer(plain, dtype=np.uint8)
    quotes, line_ends = np.flatnonzero(text == _QUOTE), np.flatnonzero(text == _LINE_END)
    steps = _STEP[text]
    at = np.flatnonzero(steps)
    before_line = np.concatenate(([0], np.searchsorted(quotes, line_ends)))
    before_line[0] -= state.is_inside
    is_bare = (np.searchsorted(quotes, at) - before_line[np.searchsorted(line_ends, at)]) % 2 == 0
    state.is_inside = bool((len(quotes) - before_line[-1]) % 2)
    at = at[is_bare]
    steps = steps[at]
    level = _levels(steps, at, line_ends, _renewals(text, line_ends, state), state)
    is_start, is_end = (steps > 0) & (level == depth + 1), (steps < 0) & (level == depth)
    is_edge = is_start | is_end
    return line_ends, list(zip((at + is_end)[is_edge].tolist(), is_start[is_edge].tolist(), strict=True))


def _renewals(text: npt.NDArray[np.uint8], line_ends: _Positions, state: _State) -> _Positions:
    """The ends (-1: that of the chunk before) of lines that one follows which begins with a bracket."""
    ends = np.concatenate(([-1], line_ends)) if state.is_at_line else line_ends
    state.is_at_line = bool(text[-1] == _LINE_END)
    ends = ends[ends < len(text) - 1]
    found: _Positions = ends[_STEP[text[ends + 1]] > 0]
    return found


def _levels(
    steps: _Positions, at: _Positions, line_ends: _Positions, renewed: _Positions, state: _State
) -> _Positions:
    """How deep the text is behind each bracket; the state becomes that at the end of the chunk."""
    level = np.concatenate(([state.depth], state.depth + np.cumsum(steps, dtype=np.int64)))
    brackets = np.searchsorted(at, line_ends)  # before each line end
    is_begun = brackets + state.depth > 0
    if state.is_renewed is None and is_begun.any():
        state.is_renewed = bool(level[brackets[is_begun][0]] == 0)
    if state.is_renewed:
        before = np.concatenate(([0], level[np.searchsorted(at, renewed)]))
        state.depth = int(level[-1] - before[-1])
        return level[1:] - before[np.searchsorted(renewed, at)]
    level -= np.minimum(np.minimum.accumulate(level), 0)  # a bracket too many closes nothing
    state.depth = int(level[-1])
    return level[1:]

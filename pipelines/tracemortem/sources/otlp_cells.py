"""A tape of traces -> columns: a cell for each row of a level, told apart by its kind.

As scanners do, this imports numba: it is imported for large files alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from tracemortem.sources.otlp_plan import I32, U8, Place, Plan
from tracemortem.sources.otlp_tape import (
    ABSENT,
    DIGITS,
    DOUBLE,
    FALSE,
    I64,
    INT64,
    JOINED,
    LEFT,
    REWRITTEN,
    ROW,
    TEXT_CELL,
    TRUE,
    USED,
    Tape,
)

_KIND, _LOW = 15, 0xFFFFFFFF
_INLINE = 12  # bytes that an Arrow string view holds in itself
_TEXTS = (TEXT_CELL, DIGITS, JOINED)
_NOT_USED = -1


@dataclass(frozen=True)
class Cells:
    """What stands on a tape. No text is copied: columns of texts hold the text that was scanned.

    height  of each level: its rows
    lines   the line of each row of level 0
    left    rows number, start, end: the lines for the exact reader
    """

    height: I64
    lines: I64
    left: I64
    _plan: Plan
    _first: I64  # of each level: where its rows begin in _holder
    _holder: I32
    _base: I64  # of each column: where its rows begin in _kinds and _values
    _kinds: U8
    _values: I64
    _texts: tuple[pa.Buffer, pa.Buffer]

    def holder(self, level: int) -> I32:
        """Of each row of a level: the row of the parent level it stands in."""
        return self._holder[self._first[level] : self._first[level] + self.height[level]]

    def parts(self, place: Place) -> Mapping[int, pl.Series]:
        """The values of a column by their kinds, those that do not occur left out.

        returns   of TEXT_CELL, DIGITS and JOINED String, of INT64 Int64, of DOUBLE Float64, of TRUE Boolean
        """
        if self._base[place.number] == _NOT_USED:
            return {}
        of_rows = slice(self._base[place.number], self._base[place.number] + self._height(place))
        kinds, values = self._kinds[of_rows], self._values[of_rows]
        found = [kind for kind in np.flatnonzero(np.bincount(kinds)).tolist() if kind != ABSENT]
        parts = {}
        for kind in found:
            if kind in _TEXTS:
                # where there is none, a number may stand, which is no view
                views = values if len(found) == 1 else np.where((kinds == kind)[:, None], values, 0)
                parts[kind] = self._strings(views, kinds == kind)
            elif kind == INT64:
                parts[kind] = _given(values[:, 0], kinds == kind)
            elif kind == DOUBLE:
                parts[kind] = _given(values[:, 0].copy().view(np.float64), kinds == kind)
            else:
                parts[TRUE] = _given(kinds == TRUE, (kinds == TRUE) | (kinds == FALSE))
        return parts

    def only(self, place: Place, kind: int, dtype: pl.DataType) -> pl.Series:
        """The values of a column that holds them in one kind only."""
        nothing = pl.Series([None], dtype=dtype).new_from_index(0, self._height(place))
        return self.parts(place).get(kind, nothing)

    def _height(self, place: Place) -> int:
        return int(self.height[self._plan.within[place.number]])

    def _strings(self, views: I64, is_there: npt.NDArray[np.bool_]) -> pl.Series:
        buffers = [_bits(is_there), pa.py_buffer(np.ascontiguousarray(views)), *self._texts]
        return pl.Series(pa.Array.from_buffers(pa.string_view(), len(views), buffers))


def cells(text: bytes, tape: Tape, plan: Plan) -> Cells:
    """What a scanner found in a text.

    raises   IndexError where something on the tape is not inside the text
    """
    events = tape.events[: tape.state[USED]]
    height = np.zeros(len(plan.parent), dtype=np.int64)
    is_used = np.zeros(len(plan.within), dtype=np.bool_)
    left = np.zeros((_count(events, height, is_used), 3), dtype=np.int64)
    first = np.cumsum(height) - height
    of_column = np.where(is_used, height[plan.within], 0)
    base = np.where(is_used, np.cumsum(of_column) - of_column, _NOT_USED)
    size = int(of_column.sum())
    kinds, values = np.zeros(size, dtype=np.uint8), np.zeros((size, 2), dtype=np.int64)
    lines, holder = np.zeros(height[0], dtype=np.int64), np.zeros(height.sum(), dtype=np.int32)
    data = np.frombuffer(text, np.uint8)
    _fill(events, data, tape.side, plan.parent, plan.within, first, base, lines, holder, kinds, values, left)
    texts = pa.py_buffer(text), pa.py_buffer(tape.side)
    return Cells(height, lines, left, plan, first, holder, base, kinds, values, texts)


def _given(values: npt.NDArray[np.generic], is_there: npt.NDArray[np.bool_]) -> pl.Series:
    """Values, null where they are not there. (pa.array takes a mask by way of pandas, which is slow.)"""
    is_flags = values.dtype == np.bool_
    held = _bits(values.astype(np.bool_)) if is_flags else pa.py_buffer(np.ascontiguousarray(values))
    kind = pa.from_numpy_dtype(values.dtype)
    return pl.Series(pa.Array.from_buffers(kind, len(values), [_bits(is_there), held]))


def _bits(flags: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


@numba.njit(nogil=True, cache=True)
def _count(events: I64, height: I64, is_used: npt.NDArray[np.bool_]) -> int:
    """Count the rows of each level, and note which columns are used; how many lines are left."""
    left = 0
    for at in range(len(events)):
        what, number = events[at, 0] & _KIND, events[at, 0] >> 8
        if what == LEFT:
            left += 1
        elif what == ROW:
            height[number] += 1
        else:
            is_used[number] = True
    return left


@numba.njit(nogil=True, cache=True)
def _fill(
    events: I64,
    text: U8,
    side: U8,
    parent: I32,
    within: I32,
    first: I64,
    base: I64,
    lines: I64,
    holder: I32,
    kinds: U8,
    values: I64,
    left: I64,
) -> None:
    current = np.full(len(parent), -1, dtype=np.int64)
    lost = 0
    for at in range(len(events)):
        head, value = events[at, 0], events[at, 1]
        what, number = head & _KIND, head >> 8
        if what == LEFT:
            left[lost, 0], left[lost, 1], left[lost, 2] = number, value >> 32, value & _LOW
            lost += 1
        elif what == ROW:
            current[number] += 1
            if number == 0:
                lines[current[0]] = value
            else:
                holder[first[number] + current[number]] = current[parent[number]]
        else:
            cell = base[number] + current[within[number]]
            kinds[cell] = what
            if what not in (TEXT_CELL, DIGITS, JOINED):
                values[cell, 0] = value
            elif head & REWRITTEN:
                _view(side, 1, value >> 32, value & _LOW, values[cell])
            else:
                _view(text, 0, value >> 32, value & _LOW, values[cell])


@numba.njit(nogil=True, cache=True)
def _view(text: U8, buffer: int, start: int, size: int, view: I64) -> None:
    """Write the Arrow string view of a text that stands in a buffer."""
    if start + size > len(text):
        raise IndexError
    head, rest = size, 0
    for number in range(min(size, 4)):
        head |= int(text[start + number]) << (32 + 8 * number)
    if size > _INLINE:
        rest = buffer | (start << 32)
    else:
        for number in range(4, size):
            rest |= int(text[start + number]) << (8 * (number - 4))
    view[0], view[1] = head, rest

"""Traces of protobuf -> a tape, in one compiled pass; a message that is not as exporters write it is odd.

What is read here is read by every parser, and means the same to the exact reader; anything else is left to
that one: what is malformed, one field twice where it can be there once, a value before its name, and a
message that could be of another signal. No read passes the end of the message it is of, which lies within
that around it.
"""

import numba
import numpy as np

from tracemortem.sources.otlp_plan import CURRENT, I32, ODD, TARGET, U8, UNREAD
from tracemortem.sources.otlp_tape import (
    ABSENT,
    ATTRIBUTE,
    DOUBLE,
    FALSE,
    I64,
    INT64,
    REWRITTEN,
    ROW,
    SIDE,
    TEXT_CELL,
    TRUE,
    USED,
    add_part,
    begin_joined,
    end_joined,
    inlined,
    leave,
    put,
    put_text,
    target,
)
from tracemortem.sources.otlp_wire import (
    ATTRIBUTES,
    ENTERED,
    ENUM,
    FIELDS,
    FLAGS,
    IDS,
    LISTS,
    NAMES,
    PARTS,
    PASSED,
    REALS,
    ROOT,
    SIZED,
    STARTS,
    TEXTS,
    UNSIGNED,
    Field,
)
from tracemortem.sources.otlp_wire_values import is_text, payload, varint

_WIRE, _DONE, _TO, _NODE, _LEVEL, _FORM, _BIT, _GIVEN = range(len(Field._fields))
_DEEPEST = 64
_DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)


@inlined
def _put_id(text: U8, start: int, size: int, column: int, events: I64, side: U8, state: I64) -> bool:
    """Write an id as hexadecimal digits; False if there is no room."""
    at = int(state[SIDE])
    if len(side) - at < 2 * size:
        return False
    for number in range(size):
        byte = text[start + number]
        side[at + 2 * number], side[at + 2 * number + 1] = _DIGITS[byte >> 4], _DIGITS[byte & 15]
    put_text(TEXT_CELL | REWRITTEN, column, at, 2 * size, events, state)
    state[SIDE] = at + 2 * size
    return True


@inlined
def _column(to: int, state: I64) -> int:
    """Where a value is written; that of the attribute at hand only once."""
    if to != CURRENT:
        return to
    column = int(state[ATTRIBUTE])
    state[ATTRIBUTE] = UNREAD
    return column


@inlined
def _sized(
    text: U8,
    start: int,
    size: int,
    done: int,
    to: int,
    form: int,
    is_given: bool,
    slots: I32,
    names: U8,
    events: I64,
    side: U8,
    state: I64,
) -> bool:
    """Write a text or an id; False where it is odd."""
    if done == IDS:
        return size == 0 or (size == form and _put_id(text, start, size, to, events, side, state))
    if not is_text(text, start, start + size):
        return False
    if done == NAMES:
        slot = target(text, start, size, to, slots, names)
        state[ATTRIBUTE] = UNREAD if slot < 0 else slots[TARGET, slot]
    elif done == PARTS:
        return add_part(text, start, size, side, state)
    elif done == TEXTS:
        column = _column(to, state)
        if column >= 0 and (size > 0 or is_given):
            put_text(TEXT_CELL, column, start, size, events, state)
    return True


@inlined
def _number(value: int, done: int, to: int, form: int, is_given: bool, events: I64, state: I64) -> bool:
    """Write a number or a truth value; False where it is odd."""
    column = _column(to, state)
    if form == UNSIGNED and value < 0:
        return False
    if form == ENUM:
        value = ((value & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000
    if column >= 0 and (value != 0 or is_given):
        if done == FLAGS:
            put(TRUE if value != 0 else FALSE, column, 0, events, state)
        else:
            put(DOUBLE if done == REALS else INT64, column, value, events, state)
    return True


@inlined
def _begin(done: int, level: int, events: I64, state: I64) -> None:
    """Begin what is entered: a row of a level, an attribute, a list of strings."""
    if done == LISTS:
        begin_joined(state)
    elif done == ATTRIBUTES:
        state[ATTRIBUTE] = UNREAD
    elif level >= 0:
        put(ROW, level, 0, events, state)


@inlined
def _end(entered: int, events: I64, state: I64) -> None:
    """End what was entered. Of two attributes of one name the last counts, also if it has no value."""
    if entered == LISTS:
        end_joined(_column(CURRENT, state), events, state)
    elif entered == ATTRIBUTES and state[ATTRIBUTE] >= 0:
        put(ABSENT, state[ATTRIBUTE], 0, events, state)


@inlined
def _walk(
    text: U8,
    at: int,
    end: int,
    fields: I32,
    slots: I32,
    names: U8,
    events: I64,
    side: U8,
    state: I64,
    stack: I64,
) -> bool:
    """Walk one message; False where it is odd.

    stack   of each message around that at hand: node, end, bits of what it had, and as what it was entered
    """
    node, depth, seen, entered, is_started = ROOT, 0, 0, ENTERED, False
    while True:
        if at == end:
            _end(entered, events, state)
            if depth == 0:
                return is_started
            depth -= 1
            node, end, seen = int(stack[depth, 0]), int(stack[depth, 1]), int(stack[depth, 2])
            entered = int(stack[depth, 3])
            continue
        tag, at = varint(text, at, end)
        if at == ODD or tag < 1 << 3 or tag >= 1 << 32:
            return False
        wire, number = tag & 7, tag >> 3
        value, start, at = payload(text, at, end, wire)
        if at == ODD:
            return False
        if number >= FIELDS:
            continue
        if wire != fields[node, number, _WIRE]:
            continue  # as parsers do with a field of another type: it counts as unknown
        done, bit = int(fields[node, number, _DONE]), int(fields[node, number, _BIT])
        if seen & bit != 0 or (done == NAMES and seen != 0):
            return False
        seen |= bit
        if done >= ENTERED:
            if depth == _DEEPEST:
                return False
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = node, end, seen, entered
            entered = done
            _begin(done, int(fields[node, number, _LEVEL]), events, state)
            depth, node, end, at, seen = depth + 1, int(fields[node, number, _NODE]), at, start, 0
            continue
        if done == PASSED:
            continue
        to, form = int(fields[node, number, _TO]), int(fields[node, number, _FORM])
        is_given = fields[node, number, _GIVEN] != 0
        if wire == SIZED:
            is_read = _sized(text, start, value, done, to, form, is_given, slots, names, events, side, state)
        else:
            is_started |= done == STARTS and value != 0
            is_read = _number(value, done, to, form, is_given, events, state)
        if not is_read:
            return False


@numba.njit(nogil=True, cache=True)
def scan_proto(
    text: U8,
    frames: I64,
    first: int,
    fields: I32,
    slots: I32,
    names: U8,
    events: I64,
    side: U8,
    state: I64,
) -> int:
    """Scan messages from the first on; at which it stopped, for want of room, or behind the last.

    frames   number, begin and end of each message in the text
    fields   as otlp_wire gives them
    """
    stack = np.zeros((_DEEPEST, 4), dtype=np.int64)
    for at in range(first, len(frames)):
        used, filled = int(state[USED]), int(state[SIDE])
        number, start, end = int(frames[at, 0]), int(frames[at, 1]), int(frames[at, 2])
        put(ROW, 0, number, events, state)
        is_read = _walk(text, start, end, fields, slots, names, events, side, state, stack)
        is_full = state[USED] >= len(events)
        if is_full and used > 0:
            state[USED], state[SIDE] = used, filled
            return at
        if is_full or not is_read:
            leave(number, start, end, used, filled, events, state)
    return len(frames)

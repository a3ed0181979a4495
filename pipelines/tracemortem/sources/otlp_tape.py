"""What the compiled scanners of OTLP write: a tape of what they found, in order.

A line or frame that a scanner does not understand is wound back and left to the exact reader. Every function
here keeps inside the arrays it is given. What is compiled is kept beside this module, and numba compares only
the time of the module that calls: after a change here, the scanners have to be touched. Nothing
compiled here makes arrays, so numba need not count references to them (_nrt), which takes half of the time.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from tracemortem.sources.otlp_plan import AT, I32, OWNER, SIZE, TARGET, U8, UNREAD, key_slot

I64 = npt.NDArray[np.int64]

# what an event is of: a line left to the exact reader; a row of a level; else a cell of a column: nothing, a
# text, the digits of a number, a text that was joined, a number, the bits of one, a truth value
LEFT, ROW, ABSENT, TEXT_CELL, DIGITS, JOINED, INT64, DOUBLE, TRUE, FALSE = range(10)
REWRITTEN = 16  # added to what a text is: it stands in `side`
NO_NAME = -5  # an attribute whose name did not come yet
# places in `state`
USED, SIDE, ATTRIBUTE, JOINED_FROM, PARTS = range(5)
_LARGEST = (1 << 31) - 1  # places and sizes in a text


class Tape(NamedTuple):
    """What a scan writes.

    events  two words each. The first: of what (the low 8 bits), and above that the number of a line, a level
            or a column. The second: of LEFT its start and end, of a text its start and size (the high and
            low 32 bits); of a ROW of level 0 the number of its line; a number
    side    texts that had to be rewritten
    state   how many events are USED, maybe more than there is room for; how much of SIDE is; the column of
            the ATTRIBUTE at hand, UNREAD or NO_NAME; where a list of strings begins in side, and its PARTS
    """

    events: I64
    side: U8
    state: I64


called = register_jitable(_nrt=False)
inlined = register_jitable(_nrt=False, forceinline=True)
_slot = inlined(key_slot)


def tape_for(size: int) -> Tape:
    """Room for what is found in so many bytes, less than 2 GiB.

    Memory that is never written to is never taken from the system, so the room is ample.
    """
    assert size <= _LARGEST // 2
    events, side = np.empty((size // 2 + 16, 2), dtype=np.int64), np.empty(2 * size + 64, dtype=np.uint8)
    return Tape(events, side, np.zeros(5, dtype=np.int64))


@inlined
def word(text: U8, at: int) -> int:
    """Eight bytes as one number, the first the lowest: in machine code one load."""
    value = 0
    for number in range(8):
        value |= int(text[at + number] & 0xFF) << (8 * number)  # & makes it signed
    return value


@inlined
def target(text: U8, at: int, size: int, owner: int, slots: I32, names: U8) -> int:
    """The slot of a key of an owner; -1 where it is none of its keys."""
    if size == 0:
        return -1
    slot = _slot(text, at, size, owner, slots.shape[1])
    while slots[SIZE, slot] >= 0:
        if slots[OWNER, slot] == owner and slots[SIZE, slot] == size:
            start, same = slots[AT, slot], 0
            while size - same >= 8 and word(names, start + same) == word(text, at + same):
                same += 8
            while same < size and names[start + same] == text[at + same]:
                same += 1
            if same == size:
                return int(slot)
        slot = (slot + 1) & (slots.shape[1] - 1)
    return -1


@inlined
def put(what: int, number: int, value: int, events: I64, state: I64) -> None:
    """Write an event; where there is no room it is counted, but lost."""
    at = state[USED]
    state[USED] = at + 1
    if at < len(events):
        events[at, 0] = what | (number << 8)
        events[at, 1] = value


@inlined
def put_text(what: int, column: int, start: int, size: int, events: I64, state: I64) -> None:
    """Write a text: where it stands, and its size."""
    put(what, column, (start << 32) | size, events, state)


@called
def name_attribute(
    text: U8, at: int, size: int, owner: int, slots: I32, names: U8, events: I64, state: I64
) -> None:
    """Name the attribute at hand: of two of one name the last counts, also if it has no value."""
    slot = target(text, at, size, owner, slots, names)
    column = UNREAD if slot < 0 else slots[TARGET, slot]
    state[ATTRIBUTE] = column
    if column >= 0:
        put(ABSENT, column, 0, events, state)


@called
def begin_joined(state: I64) -> None:
    """Begin a list of strings, which becomes one text, as HTTP joins a header that was sent twice."""
    state[JOINED_FROM] = state[SIDE]
    state[PARTS] = 0


@called
def add_part(text: U8, start: int, size: int, side: U8, state: I64) -> bool:
    """Add a string to the list at hand; False if there is no room."""
    at = state[SIDE]
    if at + size + 2 > len(side):
        return False
    if state[PARTS] > 0:
        side[at], side[at + 1] = 44, 32  # ", "
        at += 2
    for number in range(size):
        side[at + number] = text[start + number]
    state[SIDE] = at + size
    state[PARTS] += 1
    return True


@called
def end_joined(column: int, events: I64, state: I64) -> None:
    """Write the list at hand to a column, if there is one."""
    start = state[JOINED_FROM]
    if column >= 0:
        put_text(JOINED | REWRITTEN, column, start, state[SIDE] - start, events, state)


@called
def leave(number: int, start: int, end: int, used: int, filled: int, events: I64, state: I64) -> None:
    """Leave a line or frame to the exact reader. used, filled: USED and SIDE before it."""
    state[USED], state[SIDE] = used, filled
    put(LEFT, number, (start << 32) | end, events, state)

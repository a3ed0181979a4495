"""Lines of JSON -> a tape, in one compiled pass; a line that is not quite as the Collector writes it is odd.

What is accepted here is accepted by every JSON parser, and means the same to the exact reader; anything else
is left to that one: other names and types, escapes in keys, keys that stand twice, nulls in lists, an
attribute whose value stands before its name. No read passes the last byte, which has to be a line end: a
loop goes on only past bytes that are none.
"""

import numba
import numpy as np

from tracemortem.sources.otlp_json_values import (
    NULL,
    blank,
    flag_value,
    is_word,
    number_value,
    plain,
    text_value,
)
from tracemortem.sources.otlp_plan import (
    ANY,
    BIT,
    I32,
    ITEM,
    KEYED,
    LEVEL,
    LIST,
    MESSAGE,
    ODD,
    ROOT,
    SKIP,
    SORT,
    STRINGS,
    TARGET,
    U8,
)
from tracemortem.sources.otlp_tape import (
    ATTRIBUTE,
    I64,
    NO_NAME,
    ROW,
    SIDE,
    USED,
    begin_joined,
    called,
    end_joined,
    inlined,
    leave,
    put,
    target,
)

_LF, _QUOTE, _COMMA, _COLON, _MINUS, _ZERO, _NINE = 10, 34, 44, 58, 45, 48, 57
_OPEN, _CLOSE, _BEGIN, _END = 91, 93, 123, 125  # [ ] { }
_DEEPEST = 64


@numba.njit(nogil=True, cache=True)
def scan_json(
    text: U8,
    stops: U8,
    start: int,
    number: int,
    nodes: I32,
    slots: I32,
    names: U8,
    events: I64,
    side: U8,
    state: I64,
) -> tuple[int, int]:
    """Scan lines; where it stopped, at the end or for want of room, and the number of the line there.

    text     of which the last byte is a line end
    stops    of each byte: whether it is anything but a plain part of a string, as quotes are
    number   of the line that begins at start
    """
    stack = np.zeros(_DEEPEST, dtype=np.int32)
    seen = np.zeros(_DEEPEST, dtype=np.int64)
    while start < len(text):
        used, filled = state[USED], state[SIDE]
        put(ROW, 0, number, events, state)
        end = _line(text, stops, start, nodes, slots, names, events, side, state, stack, seen)
        is_full = state[USED] >= len(events)
        if is_full and used > 0:
            state[USED], state[SIDE] = used, filled
            break
        if end == ODD or is_full:
            end = start
            while text[end] != _LF:
                end += 1
            leave(number, start, end, used, filled, events, state)
        start = end + 1
        number += 1
    return start, number


@called
def _line(
    text: U8,
    stops: U8,
    at: int,
    nodes: I32,
    slots: I32,
    names: U8,
    events: I64,
    side: U8,
    state: I64,
    stack: I32,
    seen: I64,
) -> int:
    """Scan one line; where it ends, or ODD.

    stack, seen   of each depth: the node of the object there, or of the list, as -1 - node; and which of its
                  keys came already
    """
    at = blank(text, at)
    if text[at] != _BEGIN:
        return at if text[at] == _LF else ODD
    stack[0], seen[0] = ROOT, 0
    depth, at = 0, at + 1
    is_begun = True  # nothing stands in the object or list yet
    while True:
        at = blank(text, at)
        node = stack[depth]
        if text[at] == (_CLOSE if node < 0 else _END):
            if depth == 0:
                break
            if node < 0 and nodes[SORT, -1 - node] == STRINGS:
                end_joined(state[ATTRIBUTE], events, state)
            depth, at, is_begun = depth - 1, at + 1, False
            continue
        if not is_begun:
            if text[at] != _COMMA:
                return ODD
            at = blank(text, at + 1)
        if node < 0:
            child = _item(node, nodes, events, state)
        else:
            child, at = _key(text, stops, at, node, depth, nodes, slots, names, state, seen)
        is_begun = child != ODD and text[at] in (_BEGIN, _OPEN)
        if is_begun:
            depth = _enter(text[at] == _OPEN, child, depth, nodes, state, stack, seen)
            at += 1
        elif child != ODD:
            at = _scalar(text, stops, at, node, child, nodes, slots, names, events, side, state)
        if ODD in (child, depth, at):
            return ODD
    at = blank(text, at + 1)
    return at if text[at] == _LF and seen[0] != 0 else ODD


@inlined
def _item(node: int, nodes: I32, events: I64, state: I64) -> int:
    """The node of the items of a list, of which another begins."""
    child, level = nodes[ITEM, -1 - node], nodes[LEVEL, -1 - node]
    if level >= 0:
        put(ROW, level, 0, events, state)
    elif nodes[SORT, child] == KEYED:
        state[ATTRIBUTE] = NO_NAME
    return int(child)


@inlined
def _key(
    text: U8,
    stops: U8,
    at: int,
    node: int,
    depth: int,
    nodes: I32,
    slots: I32,
    names: U8,
    state: I64,
    seen: I64,
) -> tuple[int, int]:
    """The node that the key which begins here leads to, or ODD; and where its value begins."""
    if text[at] != _QUOTE:
        return ODD, at
    end = plain(text, at + 1, stops)
    if text[end] != _QUOTE:
        return ODD, at
    child = SKIP
    if node != SKIP:
        child = _child(text, at + 1, end, node, depth, nodes, slots, names, state, seen)
    at = blank(text, end + 1)
    if text[at] != _COLON:
        return ODD, at
    return child, blank(text, at + 1)


@inlined
def _enter(is_list: bool, child: int, depth: int, nodes: I32, state: I64, stack: I32, seen: I64) -> int:
    """The depth of an object or list that begins, or ODD where it may not."""
    sort = nodes[SORT, child]
    may_be = sort in (SKIP, LIST, STRINGS) if is_list else sort in (SKIP, MESSAGE, KEYED, ANY)
    if not may_be or depth + 1 == _DEEPEST:
        return ODD
    stack[depth + 1] = -1 - child if is_list else child
    seen[depth + 1] = 0
    if sort == STRINGS:
        begin_joined(state)
    return depth + 1


@inlined
def _child(
    text: U8,
    at: int,
    end: int,
    node: int,
    depth: int,
    nodes: I32,
    slots: I32,
    names: U8,
    state: I64,
    seen: I64,
) -> int:
    """The node that a key of a node leads to; SKIP where it is unknown."""
    slot = target(text, at, end - at, node, slots, names)
    if slot < 0:
        return SKIP
    child = slots[TARGET, slot]
    if child == ODD:
        return ODD
    bit = np.int64(1) << np.int64(slots[BIT, slot])
    # which of two kinds a value is taken for is not for here to say
    if seen[depth] & bit or (nodes[SORT, node] == ANY and seen[depth] != 0):
        return ODD
    seen[depth] |= bit
    if nodes[SORT, child] == ANY and state[ATTRIBUTE] == NO_NAME:
        return ODD
    return int(child)


@inlined
def _scalar(
    text: U8,
    stops: U8,
    at: int,
    node: int,
    child: int,
    nodes: I32,
    slots: I32,
    names: U8,
    events: I64,
    side: U8,
    state: I64,
) -> int:
    """Behind a text, number or word of a child of a node, or ODD."""
    byte = text[at]
    if byte == _QUOTE:
        return text_value(text, stops, at + 1, child, nodes, slots, names, events, side, state)
    if byte == _MINUS or _ZERO <= byte <= _NINE:
        return number_value(text, at, child, nodes, events, state)
    if is_word(text, at, NULL):
        # in a list it is an item, and of a value it leaves open of which kind that is
        is_nothing = child == SKIP or (node > 0 and nodes[SORT, node] not in (ANY, KEYED))
        return at + 4 if is_nothing else ODD
    return flag_value(text, at, child, nodes, events, state)

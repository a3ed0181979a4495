"""Values of JSON -> a tape: what stands at a place of a line, and where it ends; compiled.

No read passes a line end.
"""

import numpy as np

from tracemortem.sources.otlp_plan import (
    COLUMN,
    COUNT,
    CURRENT,
    FLAG,
    HOLDS,
    I32,
    ID,
    INT,
    ITEM,
    NAME,
    ODD,
    PART,
    REAL,
    SKIP,
    SORT,
    TEXT,
    U8,
    VALUE,
)
from tracemortem.sources.otlp_tape import (
    ATTRIBUTE,
    DIGITS,
    FALSE,
    I64,
    INT64,
    REWRITTEN,
    SIDE,
    TEXT_CELL,
    TRUE,
    add_part,
    called,
    inlined,
    name_attribute,
    put,
    put_text,
)
from tracemortem.sources.otlp_unescape import unescaped

NULL, _TRUE_WORD, _FALSE_WORD = (np.frombuffer(word, np.uint8) for word in (b"null", b"true", b"false"))
_LF, _CR, _TAB, _SPACE = 10, 13, 9, 32
_QUOTE, _BACKSLASH, _MINUS, _PLUS, _POINT, _ZERO, _NINE = 34, 92, 45, 43, 46, 48, 57
_EXPONENTS = (69, 101)  # E, e
_LARGEST = (1 << 63) // 10 - 1  # with another digit it still fits into 64 bits
_LONGEST_REAL = 30  # of a longer number, or one that may be infinite, the exact reader has to say what it is


@inlined
def text_value(
    text: U8,
    stops: U8,
    at: int,
    node: int,
    nodes: I32,
    slots: I32,
    names: U8,
    events: I64,
    side: U8,
    state: I64,
) -> int:
    """Behind a text that begins here, behind its quote; it is written where the node says, or ODD."""
    sort, holds = nodes[SORT, node], nodes[HOLDS, node]
    if sort == VALUE and holds == COUNT:
        end = _whole(text, at, _column(node, nodes, state), events, state)
        return end + 1 if end >= 0 and text[end] == _QUOTE else ODD
    if sort != SKIP and (sort != VALUE or holds not in (TEXT, ID)):
        return ODD
    end, is_escaped = _string(text, at, stops)
    if end == ODD:
        return ODD
    column = _column(node, nodes, state)
    if is_escaped:
        is_right = _rewritten(text, at, end, column, events, side, state)
    elif column == PART:
        is_right = add_part(text, at, end - at, side, state)
    else:
        is_right = True
        if column >= 0:
            put_text(TEXT_CELL, column, at, end - at, events, state)
        elif column == NAME:
            name_attribute(text, at, end - at, nodes[ITEM, node], slots, names, events, state)
    return end + 1 if is_right else ODD


@called
def _rewritten(text: U8, at: int, end: int, column: int, events: I64, side: U8, state: I64) -> bool:
    """Write a text that holds escapes; False where it holds what none are, or is a name, or a part."""
    start = state[SIDE]
    made = unescaped(text, at, end, side, start)
    if made < 0 or column in (NAME, PART):
        return False
    if column >= 0:
        put_text(TEXT_CELL | REWRITTEN, column, start, made - start, events, state)
        state[SIDE] = made
    return True


@inlined
def number_value(text: U8, at: int, node: int, nodes: I32, events: I64, state: I64) -> int:
    """Behind a number that begins here, or ODD."""
    sort, holds = nodes[SORT, node], nodes[HOLDS, node]
    if sort == VALUE and holds in (COUNT, INT):
        end = _whole(text, at, _column(node, nodes, state), events, state)
        return ODD if end < 0 or text[end] in (_POINT, *_EXPONENTS) else end
    if sort != SKIP and (sort != VALUE or holds != REAL):
        return ODD
    end, may_be_infinite = _real(text, at)
    if end < 0 or sort == SKIP:
        return end
    if may_be_infinite or end - at > _LONGEST_REAL:
        return ODD
    column = _column(node, nodes, state)
    if column >= 0:
        put_text(DIGITS, column, at, end - at, events, state)
    return end


@inlined
def flag_value(text: U8, at: int, node: int, nodes: I32, events: I64, state: I64) -> int:
    """Behind a true or false that begins here, or ODD."""
    if is_word(text, at, _TRUE_WORD):
        end, kind = at + 4, TRUE
    elif is_word(text, at, _FALSE_WORD):
        end, kind = at + 5, FALSE
    else:
        return ODD
    if nodes[SORT, node] == SKIP:
        return end
    if nodes[SORT, node] != VALUE or nodes[HOLDS, node] != FLAG:
        return ODD
    column = _column(node, nodes, state)
    if column >= 0:
        put(kind, column, 0, events, state)
    return end


@inlined
def _column(node: int, nodes: I32, state: I64) -> int:
    """Where a value is written: a column, or UNREAD, NAME or PART."""
    column = nodes[COLUMN, node]
    return int(state[ATTRIBUTE]) if column == CURRENT else int(column)


@inlined
def _string(text: U8, at: int, stops: U8) -> tuple[int, bool]:
    """Where the quote stands that ends the string going on here, or ODD; and whether it holds escapes."""
    is_escaped = False
    while True:
        at = plain(text, at, stops)
        if text[at] == _QUOTE:
            return at, is_escaped
        if text[at] != _BACKSLASH or text[at + 1] == _LF:
            return ODD, False
        is_escaped = True
        at += 2


@inlined
def plain(text: U8, at: int, stops: U8) -> int:
    """Where the plain part of a string that goes on here ends."""
    while stops[text[at]] == 0:
        at += 1
    return at


@inlined
def blank(text: U8, at: int) -> int:
    while text[at] in (_SPACE, _TAB, _CR):
        at += 1
    return at


@inlined
def _whole(text: U8, at: int, column: int, events: I64, state: I64) -> int:
    """Behind the integer that begins here, or ODD where it is not as integers are written out."""
    is_negative = text[at] == _MINUS
    start = at + 1 if is_negative else at
    at, whole = start, 0
    while _ZERO <= text[at] <= _NINE:
        if whole > _LARGEST:
            return ODD
        whole = 10 * whole + int(text[at]) - _ZERO
        at += 1
    size = at - start
    if size == 0 or (text[start] == _ZERO and (size > 1 or is_negative)):
        return ODD
    if column >= 0:
        put(INT64, column, -whole if is_negative else whole, events, state)
    return at


@called
def _real(text: U8, at: int) -> tuple[int, bool]:
    """Behind the number that begins here, or ODD; and whether its exponent has more than two digits."""
    if text[at] == _MINUS:
        at += 1
    start = at
    at = _digits(text, at)
    if at == start or (text[start] == _ZERO and at > start + 1):
        return ODD, False
    if text[at] == _POINT:
        start = at + 1
        at = _digits(text, start)
        if at == start:
            return ODD, False
    if text[at] not in _EXPONENTS:
        return at, False
    start = at + 1
    if text[start] in (_PLUS, _MINUS):
        start += 1
    at = _digits(text, start)
    return (ODD, False) if at == start else (at, at > start + 2)


@called
def _digits(text: U8, at: int) -> int:
    while _ZERO <= text[at] <= _NINE:
        at += 1
    return at


@called
def is_word(text: U8, at: int, word: U8) -> bool:
    """Whether a word, without a line end, stands here."""
    same = 0
    while same < len(word) and text[at + same] == word[same]:
        same += 1
    return same == len(word)

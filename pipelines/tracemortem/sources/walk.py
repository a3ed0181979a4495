"""Compiled loops over the bytes of a block: where in its lines the fields of a template lie.

They write nothing but the arrays they return, check every bound, and leave a line that they do not understand
to the exact way. Importing this module costs half a second, and an installation's first call some seconds, as
it is compiled then and kept: it is imported for large files alone.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from tracemortem.sources.template import DECIMAL, ESCAPES, FIXED, JSON, LISTED, NO_NULL, QUOTED, RUN, WHOLE

Bytes = NDArray[np.uint8]
Places = NDArray[np.int32]
Flags = NDArray[np.bool_]

NOWHERE = -1
_QUOTE, _ESCAPE = 34, 92
_BLANK, _TAB, _COMMA, _COLON, _MINUS, _POINT, _NOUGHT, _NINE = 32, 9, 44, 58, 45, 46, 48, 57
_TRUE, _FALSE, _NULL = (np.frombuffer(word, np.uint8) for word in (b"true", b"false", b"null"))
_ONE_BYTE_ESCAPES = np.frombuffer(b'"\\/bfnrt', np.uint8)
_WHOLE_DIGITS, _DIGITS_BEFORE_POINT = 15, 10  # more, and a number may be written otherwise once it is parsed
_INLINE = 12  # bytes that an Arrow string view holds in itself


@numba.njit(nogil=True, cache=True)
def _after(text: Bytes, place: int, end: int, literal: Bytes) -> int:
    """The place behind the literal, if it stands here."""
    if end - place < literal.size:
        return NOWHERE
    for at in range(literal.size):
        if text[place + at] != literal[at]:
            return NOWHERE
    return place + int(literal.size)


@numba.njit(nogil=True, cache=True)
def _run(text: Bytes, place: int, end: int, allowed: Flags) -> int:
    while place < end and allowed[text[place]]:
        place += 1
    return place


@numba.njit(nogil=True, cache=True)
def _digits(text: Bytes, place: int, end: int) -> int:
    while place < end and _NOUGHT <= text[place] <= _NINE:
        place += 1
    return place


@numba.njit(nogil=True, cache=True)
def _decimal(text: Bytes, place: int, end: int) -> int:
    """Where digits, and maybe a point and digits, end; the place itself where there are none."""
    whole = _digits(text, place, end)
    if whole in (place, end) or text[whole] != _POINT:
        return whole
    part = _digits(text, whole + 1, end)
    return part if part > whole + 1 else whole


@numba.njit(nogil=True, cache=True)
def _listed(text: Bytes, place: int, end: int, allowed: Flags, is_number: bool) -> int:
    """The end of the one entry of a list of upstreams; nowhere if another follows, after ", " or " : "."""
    if is_number:
        at = _decimal(text, place, end)
        if at == place and at < end and text[at] == _MINUS:
            at += 1
    else:
        at = _run(text, place, end, allowed)
    if end - at >= 2 and text[at] == _COMMA and text[at + 1] == _BLANK:
        return NOWHERE
    if end - at >= 3 and text[at] == _BLANK and text[at + 1] == _COLON and text[at + 2] == _BLANK:
        return NOWHERE
    return at


@numba.njit(nogil=True, cache=True)
def _fixed(text: Bytes, place: int, end: int, classes: Flags, mask: Bytes) -> int:
    if end - place < mask.size:
        return NOWHERE
    for at in range(mask.size):
        if not classes[mask[at], text[place + at]]:
            return NOWHERE
    return place + int(mask.size)


@numba.njit(nogil=True, cache=True)
def _quoted(text: Bytes, place: int, end: int) -> int:
    """Where the quote stands that ends the field: the next that is not escaped."""
    while place < end and text[place] != _QUOTE:
        place += 2 if text[place] == _ESCAPE else 1
    return place if place < end else NOWHERE


@numba.njit(nogil=True, cache=True)
def _until(text: Bytes, place: int, end: int, literal: Bytes, is_quoted: bool) -> int:
    """Where the literal stands next; before the blanks at the line's end if it is empty."""
    if literal.size == 0:
        while end > place and (text[end - 1] == _BLANK or text[end - 1] == _TAB):
            end -= 1
        return end
    while place < end and _after(text, place, end, literal) == NOWHERE:
        if is_quoted and (text[place] == _QUOTE or text[place] == _ESCAPE):
            return NOWHERE
        place += 1
    return place if place < end else NOWHERE


@numba.njit(nogil=True, cache=True)
def _json_text(text: Bytes, place: int, end: int, has_escapes: bool) -> int:
    """The place behind the quote that ends the JSON text which begins here."""
    while place < end:
        byte = text[place]
        if byte == _QUOTE:
            return place + 1
        if byte == _ESCAPE:
            if not has_escapes or place + 1 >= end or not (text[place + 1] == _ONE_BYTE_ESCAPES).any():
                return NOWHERE
            place += 1
        elif byte < _BLANK:
            return NOWHERE
        place += 1
    return NOWHERE


@numba.njit(nogil=True, cache=True)
def _json(text: Bytes, place: int, end: int, allowed: int) -> int:
    """The place behind the JSON text, number or word that stands here."""
    if place >= end:
        return NOWHERE
    first = text[place]
    if first == _QUOTE:
        return _json_text(text, place + 1, end, allowed & ESCAPES != 0)
    if _NOUGHT <= first <= _NINE:
        whole, at = _digits(text, place, end), _decimal(text, place, end)
        most = _WHOLE_DIGITS if at == whole else _DIGITS_BEFORE_POINT
        if (
            whole - place > most
            or (first == _NOUGHT and whole - place > 1)
            or (at > whole and allowed & WHOLE)
        ):
            return NOWHERE
        return at
    if first == _NULL[0]:
        return NOWHERE if allowed & NO_NULL else _after(text, place, end, _NULL)
    return _after(text, place, end, _TRUE if first == _TRUE[0] else _FALSE)


# not inlined, the call and its arrays cost a third of the walk
@numba.njit(nogil=True, cache=True, inline="always")
def _end(
    text: Bytes,
    place: int,
    end: int,
    mode: int,
    of: int,
    least: int,
    classes: Flags,
    masks: Bytes,
    literal: Bytes,
) -> int:
    """Where the field of this shape ends that begins here; nowhere if none does."""
    if mode == RUN:
        at = _run(text, place, end, classes[of])
        at = at if at - place >= least else NOWHERE
    elif mode == DECIMAL:
        at = _decimal(text, place, end)
        at = at if at > place else NOWHERE
    elif mode == LISTED:
        at = _listed(text, place, end, classes[of], least == 1)
    elif mode == FIXED:
        at = _fixed(text, place, end, classes, masks[of : of + least])
    elif mode == QUOTED:
        at = _quoted(text, place, end)
    elif mode == JSON:
        at = _json(text, place, end, least)
    else:
        at = _until(text, place, end, literal, least == 1)
    return at


@numba.njit(nogil=True, cache=True)
def fields(
    text: Bytes,
    begins: Places,
    lengths: Places,
    literals: Bytes,
    literal_at: Places,
    parts: Places,
    classes: Flags,
    masks: Bytes,
    columns: int,
) -> tuple[Flags, Places, Places]:
    """Which lines the template reads, and where the fields of those begin and how long they are, by column.

    literals, literal_at  what stands before each field, and after the last
    parts                 a row a field: mode; class, or first place in masks; least bytes, or those of
                          the mask; column, or -1
    classes               by class and byte: whether it may stand in the field
    masks                 the class of each byte of fields of fixed length
    """
    count, fields_count = begins.size, parts.shape[0]
    is_read = np.zeros(count, np.bool_)
    found, sizes = np.zeros((columns, count), np.int32), np.zeros((columns, count), np.int32)
    for line in range(count):
        place, end = int(begins[line]), int(begins[line] + lengths[line])
        place = _after(text, place, end, literals[literal_at[0] : literal_at[1]])
        for number in range(fields_count):
            if place == NOWHERE:
                break
            mode, of, least, column = parts[number]
            literal = literals[literal_at[number + 1] : literal_at[number + 2]]
            at = _end(text, place, end, mode, of, least, classes, masks, literal)
            if at != NOWHERE and column >= 0:
                begin, stop = place, at
                if mode == JSON and text[place] == _QUOTE:
                    begin, stop = place + 1, at - 1
                elif mode == JSON and text[place] == _NULL[0]:
                    stop = place
                found[column, line], sizes[column, line] = begin, stop - begin
            place = at if at == NOWHERE else _after(text, at, end, literal)
        while place != NOWHERE and place < end and (text[place] == _BLANK or text[place] == _TAB):
            place += 1
        is_read[line] = place == end
    return is_read, found, sizes


@numba.njit(nogil=True, cache=True)
def views(text: Bytes, begins: Places, lengths: Places) -> NDArray[np.uint64]:
    """The slices of the text as Arrow string views: two words each; the long ones point into the text.

    raises   IndexError where a slice is not inside the text
    """
    made = np.zeros((begins.size, 2), np.uint64)
    for number in range(begins.size):
        begin, length = int(begins[number]), int(lengths[number])
        if begin < 0 or length < 0 or begin + length > text.size:
            raise IndexError
        low, high = np.uint64(length), np.uint64(0)
        for byte in range(min(length, 4)):
            low |= np.uint64(text[begin + byte]) << np.uint64(32 + 8 * byte)
        if length > _INLINE:
            high = np.uint64(begin) << np.uint64(32)
        else:
            for byte in range(4, length):
                high |= np.uint64(text[begin + byte]) << np.uint64(8 * (byte - 4))
        made[number, 0], made[number, 1] = low, high
    return made

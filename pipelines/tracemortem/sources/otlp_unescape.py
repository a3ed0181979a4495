"""Strings of JSON without their escapes, compiled."""

from tracemortem.sources.otlp_plan import U8
from tracemortem.sources.otlp_tape import called

_BACKSLASH, _U = 92, 117
_HIGH, _LOW, _NO_SURROGATE = 0xD800, 0xDC00, 0xE000
_NO_HEX = -1


@called
def unescaped(text: U8, at: int, end: int, into: U8, to: int) -> int:
    """Write the string between two places into another text; where it ends there.

    returns  -1 where an escape is none of JSON's, or half of a surrogate pair, or where there is no room
    """
    if to + end - at > len(into):
        return -1
    while at < end:
        byte = text[at]
        if byte != _BACKSLASH:
            into[to] = byte
            at += 1
            to += 1
            continue
        byte = text[at + 1] if at + 1 < end else 0
        if byte != _U:
            plain = _plain(byte)
            if plain == 0:
                return -1
            into[to] = plain
            at += 2
            to += 1
            continue
        code = _hex(text, at + 2, end)
        at += 6
        if _HIGH <= code < _LOW:
            if at + 1 >= end or text[at] != _BACKSLASH or text[at + 1] != _U:
                return -1
            low = _hex(text, at + 2, end)
            if not _LOW <= low < _NO_SURROGATE:
                return -1
            code = 0x10000 + ((code - _HIGH) << 10) + (low - _LOW)
            at += 6
        elif code == _NO_HEX or _LOW <= code < _NO_SURROGATE:
            return -1
        to = _encode(code, into, to)
    return to


@called
def _plain(byte: int) -> int:
    """What stands behind a backslash, without it; 0 where nothing may."""
    if byte in (34, 47, 92):  # " / \
        return byte
    if byte == 98:  # b
        return 8
    if byte == 102:  # f
        return 12
    if byte == 110:  # n
        return 10
    if byte == 114:  # r
        return 13
    return 9 if byte == 116 else 0  # t


@called
def _hex(text: U8, at: int, end: int) -> int:
    """The number that four hex digits write."""
    if at + 4 > end:
        return _NO_HEX
    code = 0
    for number in range(4):
        byte = int(text[at + number])
        if 48 <= byte <= 57:
            digit = byte - 48
        elif 97 <= byte <= 102:
            digit = byte - 87
        elif 65 <= byte <= 70:
            digit = byte - 55
        else:
            return _NO_HEX
        code = 16 * code + digit
    return code


@called
def _encode(code: int, into: U8, to: int) -> int:
    """Write a code point as UTF-8; where it ends."""
    if code < 0x80:
        into[to] = code
        return to + 1
    if code < 0x800:
        into[to] = 0xC0 | (code >> 6)
    else:
        if code < 0x10000:
            into[to] = 0xE0 | (code >> 12)
        else:
            into[to] = 0xF0 | (code >> 18)
            into[to + 1] = 0x80 | ((code >> 12) & 0x3F)
            to += 1
        into[to + 1] = 0x80 | ((code >> 6) & 0x3F)
        to += 1
    into[to + 1] = 0x80 | (code & 0x3F)
    return to + 2

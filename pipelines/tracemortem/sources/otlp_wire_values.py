"""What stands in a field of protobuf: numbers, sizes and texts, compiled; every bound is checked."""

from tracemortem.sources.otlp_plan import ODD, U8
from tracemortem.sources.otlp_tape import inlined, word
from tracemortem.sources.otlp_wire import FIXED32, FIXED64, SIZED, VARINT

_LONGEST, _MORE, _PAYLOAD = 10, 0x80, 0x7F  # bytes of a varint; another follows; what a byte of it holds
_BYTE = 0xFF  # makes a signed number of an unsigned one
_ABOVE_ASCII = -0x7F7F7F7F7F7F7F80  # the highest bit of each of 8 bytes


@inlined
def varint(text: U8, at: int, end: int) -> tuple[int, int]:
    """A number of at most 64 bits, and where it ends: ODD if nowhere."""
    value = 0
    for number in range(min(_LONGEST, end - at)):
        byte = text[at + number]
        value |= int(byte & _PAYLOAD) << (7 * number)
        if byte < _MORE:
            return value, ODD if number == _LONGEST - 1 and byte > 1 else at + number + 1
    return 0, ODD


@inlined
def payload(text: U8, at: int, end: int, wire: int) -> tuple[int, int, int]:
    """The number in a field, or how many bytes; where these begin; where the field ends: ODD if nowhere."""
    if wire == VARINT:
        value, after = varint(text, at, end)
        return value, at, after
    if wire == SIZED:
        size, start = varint(text, at, end)
        if start == ODD or size < 0 or size > end - start:
            return 0, at, ODD
        return size, start, start + size
    if wire == FIXED64 and end - at >= 8:
        return word(text, at), at, at + 8
    if wire == FIXED32 and end - at >= 4:
        return 0, at, at + 4
    return 0, at, ODD


@inlined
def _is_utf8(text: U8, at: int, end: int) -> bool:
    """Whether these bytes are UTF-8 (Unicode, table 3-7: neither surrogates nor more bytes than needed)."""
    while at < end:
        first = text[at]
        at += 1
        if first < 0x80:
            continue
        if first < 0xC2 or first > 0xF4:
            return False
        more = 1 if first < 0xE0 else 2 if first < 0xF0 else 3
        if end - at < more:
            return False
        low = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
        high = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
        if text[at] < low or text[at] > high:
            return False
        for number in range(1, more):
            if text[at + number] & 0xC0 != 0x80:
                return False
        at += more
    return True


@inlined
def is_text(text: U8, at: int, end: int) -> bool:
    start, bits = at, 0
    while end - at >= 8:
        bits |= word(text, at)
        at += 8
    while at < end:
        bits |= int(text[at] & _BYTE)
        at += 1
    return bits & _ABOVE_ASCII == 0 or _is_utf8(text, start, end)

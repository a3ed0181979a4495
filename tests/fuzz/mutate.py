"""Ways to damage a file. A damage is data, so that a failing case can be repeated, and made smaller."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import NamedTuple

TOKENS = (
    b'"', b"\\", b"\\u0000", b"\\ud800", b"{", b"}", b"[", b"]", b"[]", b"{}", b"null", b"NaN", b"true", b",",
    b":", b"#", b"\n", b"\r\n", b"\n\n", b"\t", b"\0", b"\0" * 40, b"\xff\xfe", b"\xc3", b"\xed\xa0\x80",
    b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"-", b"-1", b"1e999", b"9" * 25, b"-9223372036854775809",
    b"18446744073709551616", b"1.7976931348623157e309", b"0x1F", b"\x1b[0;31m", b"x^", b"\xff\xff\xff\xff",
    b"\0\0\0\x01\x0a", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&b;", b"9999-12-31T23:59:59Z", b"0000-00-00",
    b" line text at reason round ", b"::1", b"[::ffff:1.2.3.4]:0", b"'", b"%", b"$", b"*",
)  # fmt: skip
FILLINGS = (
    b" ",
    b"\t",
    b"\n",
    b"x",
    b"\\",
    b'"',
    b"0",
    b"a ",
    b"{",
    b"}",
    b"[]",
    b",",
    b":",
    b"=",
    b"#",
    b"\0",
    b"\xff",
)
DEEP = (b"[", b'{"a":', b"\x0a\x7f", b"<a>")


class Damage(NamedTuple):
    """One change: which kind, where, how much, and what is chosen (all taken modulo what there is)."""

    kind: str
    at: int
    size: int
    pick: int


def _flip(data: bytes, at: int, size: int, pick: int, other: bytes) -> bytes:
    return data[:at] + bytes([data[at] ^ (1 << pick % 8)]) + data[at + 1 :] if at < len(data) else data


def _cut(data: bytes, at: int, size: int, pick: int, other: bytes) -> bytes:
    return data[:at] + data[at + 1 + size % 64 :]


def _truncate(data: bytes, at: int, size: int, pick: int, other: bytes) -> bytes:
    return data[:at]


def _repeat(data: bytes, at: int, size: int, pick: int, other: bytes) -> bytes:
    return data[:at] + data[at : at + 1 + size % 200] * (2 + pick % 3) + data[at:]


def _splice(data: bytes, at: int, size: int, pick: int, other: bytes) -> bytes:
    start = pick % (len(other) + 1)
    return data[:at] + other[start : start + 1 + size % 300] + data[at:]


def _token(data: bytes, at: int, size: int, pick: int, other: bytes) -> bytes:
    return data[:at] + TOKENS[pick % len(TOKENS)] + data[at + size % 3 :]


def _number(data: bytes, at: int, size: int, pick: int, other: bytes) -> bytes:
    """The next run of digits becomes another one, up to 6000 long."""
    start = next((i for i in range(at, len(data)) if data[i : i + 1].isdigit()), len(data))
    end = next((i for i in range(start, len(data)) if not data[i : i + 1].isdigit()), len(data))
    return data[:start] + b"%d" % (pick % 10) * (1 + size % 6000) + data[end:]


def _deep(data: bytes, at: int, size: int, pick: int, other: bytes) -> bytes:
    return data[:at] + DEEP[pick % len(DEEP)] * (size % 3000) + data[at:]


def _long(data: bytes, at: int, size: int, pick: int, other: bytes) -> bytes:
    return data[:at] + FILLINGS[pick % len(FILLINGS)] * (size % 100_000) + data[at:]


def _swap(data: bytes, at: int, size: int, pick: int, other: bytes) -> bytes:
    lines = data.split(b"\n")
    one, two = at % len(lines), pick % len(lines)
    lines[one], lines[two] = lines[two], lines[one]
    return b"\n".join(lines)


KINDS: Mapping[str, Callable[[bytes, int, int, int, bytes], bytes]] = {
    "flip": _flip,
    "cut": _cut,
    "truncate": _truncate,
    "repeat": _repeat,
    "splice": _splice,
    "token": _token,
    "number": _number,
    "deep": _deep,
    "long": _long,
    "swap": _swap,
}
# that most files stay near to what they were: the big damages are rare
_OFTEN = ("flip", "flip", "cut", "repeat", "splice", "token", "token", "token", "number", "number", "swap")
_SELDOM = ("truncate", "deep", "long")


def damaged(data: bytes, damages: Sequence[Damage], other: bytes) -> bytes:
    """The file after all of the damages, in order. other: a second file, to splice from."""
    for damage in damages:
        at = damage.at % (len(data) + 1)
        data = KINDS[damage.kind](data, at, damage.size, damage.pick, other)
    return data


def drawn(random: Random) -> list[Damage]:
    """Some damages by chance: most often one or two."""
    count = 1 + min(int(random.expovariate(0.7)), 7)
    return [
        Damage(
            random.choice(_SELDOM if random.random() < 0.06 else _OFTEN),
            random.getrandbits(24),
            random.getrandbits(17),
            random.getrandbits(16),
        )
        for _ in range(count)
    ]

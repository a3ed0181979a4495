"""The messages in an OTLP file that is no text: each after its length, or one bare; zstd around each, maybe.

The Collector's file exporter puts a length (u32, big-endian) before each message of `format: proto`, and
before each one that it compressed, unless its feature gate exporter.file.nativeCompression is on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from tracemortem.sources.blocks import BLOCK, LONGEST
from tracemortem.sources.unpacked import RATIO, RATIO_FROM, ZSTD, Frames, PackedError

_PREFIX = 4
_PIECE = 1 << 20
_LOOKED_AT = 1 << 10
_LAST_BYTE = 0x80  # a varint goes on while this bit is set
_LONGEST_VARINT = 10
RESOURCE = b"\x0a"  # field 1, length-delimited: how each of the three messages begins


@dataclass(frozen=True)
class Frame:
    """One message.

    number  from 1
    body    the message, decompressed; b"" where it is lost
    fault   why it is lost; "" where it is not
    taken   bytes of the file
    """

    number: int
    body: bytes
    fault: str
    taken: int

    @property
    def is_json(self) -> bool:
        """Whether the message is JSON; else it is protobuf."""
        return self.body.startswith(b"{")


def prefixed(stream: BinaryIO) -> Iterator[Frame]:
    """The messages of a file that puts a length before each. None longer than LONGEST is held."""
    number = taken = given = 0
    while prefix := stream.read(_PREFIX):
        number += 1
        size = int.from_bytes(prefix, "big")
        body = stream.read(size) if size <= LONGEST else b""
        got = len(body) if size <= LONGEST else _passed(stream, size)
        fault = ""
        taken += len(prefix) + got
        if len(prefix) < _PREFIX or got < size:
            fault = f"a frame of which only {got} bytes are there"
        elif size > LONGEST:
            fault = f"a frame longer than {LONGEST >> 20} MiB"
        elif body.startswith(ZSTD):
            if given > RATIO_FROM and given > RATIO * taken:
                fault = f"what looks like a decompression bomb: {taken} bytes hold more than {given}"
            else:
                body, fault = _decompressed(body)
                given += len(body)
        yield Frame(number, b"" if fault else body, fault, len(prefix) + got)


def bare(stream: BinaryIO) -> Iterator[Frame]:
    """The one message of a file without any length, a resource at a time: each is a message of its own."""
    number = 0
    while tag := stream.read(1):
        number += 1
        varint = _varint(stream)
        size = _value(varint)
        if tag != RESOURCE or size is None:
            rest = _passed(stream, None)
            yield Frame(number, b"", "no OTLP export request from here on", 1 + len(varint) + rest)
            return
        taken = 1 + len(varint)
        if size > LONGEST:
            got = _passed(stream, size)
            yield Frame(number, b"", f"a resource longer than {LONGEST >> 20} MiB", taken + got)
            continue
        body = stream.read(size)
        fault = "" if len(body) == size else f"a resource of which only {len(body)} bytes are there"
        yield Frame(number, b"" if fault else tag + varint + body, fault, taken + len(body))


def first(head: bytes) -> tuple[bytes, bool, bool]:
    """Of a file that begins so: its first message or how that begins; if it is all there; if by zstd.

    returns  b"" where there is no message after its length, or too little to decompress
    """
    size = int.from_bytes(head[:_PREFIX], "big")
    body = head[_PREFIX : _PREFIX + size]
    if not 0 < size <= LONGEST:
        return b"", False, False
    if not body.startswith(ZSTD):
        return body, len(body) == size, False
    frames, content = Frames(pa.BufferReader(body)), b""
    try:
        while len(content) < len(head) and (more := frames.read(_LOOKED_AT)):
            content += more
    except PackedError:
        return content, False, True
    return content, len(content) < len(head), True


def first_resource(head: bytes) -> bytes:
    """The bytes of the resource that a bare message begins with; b"" where it does not begin with one."""
    within = _within(head)
    inner = _within(within[0]) if within else None
    return inner[0] if inner and len(inner[0]) == inner[1] else b""


def _within(head: bytes) -> tuple[bytes, int] | None:
    """What is there of the content of a first field 1, and its length."""
    varint = head[1 : 1 + _LONGEST_VARINT]
    end = next((at for at, byte in enumerate(varint, 1) if byte < _LAST_BYTE), None)
    if not head.startswith(RESOURCE) or end is None or (size := _value(varint[:end])) is None:
        return None
    return head[1 + end : 1 + end + size], size


def _decompressed(body: bytes) -> tuple[bytes, str]:
    frames, pieces, size = Frames(pa.BufferReader(body)), [], 0
    try:
        while piece := frames.read(_PIECE):
            size += len(piece)
            if size > LONGEST:
                return b"", f"a frame that holds more than {LONGEST >> 20} MiB"
            pieces.append(piece)
    except PackedError as error:
        return b"", f"a zstd frame that {'ends early' if error.is_cut else 'is damaged'}: {error}"
    return b"".join(pieces), ""


def _passed(stream: BinaryIO, size: int | None) -> int:
    """How many bytes, of so many (None: all there are), were there to be passed over."""
    passed = 0
    while chunk := stream.read(BLOCK if size is None else min(size - passed, BLOCK)):
        passed += len(chunk)
    return passed


def _varint(stream: BinaryIO) -> bytes:
    taken = b""
    while len(taken) < _LONGEST_VARINT and (byte := stream.read(1)):
        taken += byte
        if byte[0] < _LAST_BYTE:
            break
    return taken


def _value(varint: bytes) -> int | None:
    """The number that a varint stands for; None where it is cut off."""
    if not varint or varint[-1] >= _LAST_BYTE:
        return None
    return sum((byte & 0x7F) << (7 * at) for at, byte in enumerate(varint))

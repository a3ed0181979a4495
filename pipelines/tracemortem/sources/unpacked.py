"""A compressed stream as what it holds, bounded in size, in expansion and in memory: gzip and zstd."""

import io
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

import pyarrow as pa

from tracemortem.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LIMIT = 64 << 30
RATIO = 1000
RATIO_FROM = 64 << 20
DEEPEST = 3
_CHUNK = 1 << 20
ZSTD = b"\x28\xb5\x2f\xfd"
GZIP = b"\x1f\x8b"
_SKIPPABLE = b"\x2a\x4d\x18"  # of a zstd frame that holds no data; the byte before counts from 0x50 to 0x5f


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class PackedError(Exception):
    """A compressed stream cannot be read on. is_cut: it ends before its end."""

    def __init__(self, why: str, *, is_cut: bool) -> None:
        super().__init__(why)
        self.is_cut = is_cut


class Members:
    """The members of a gzip as one stream. (gzip.GzipFile would decompress whatever one read asks of it.)"""

    def __init__(self, packed: _Readable) -> None:
        self._source = packed
        self._member = zlib.decompressobj(wbits=31)
        self._packed = b""
        self._is_fresh = True  # nothing of the current member was seen yet

    def read(self, size: int, /) -> bytes:
        """Up to size bytes, at least one but at the end; raises PackedError."""
        while True:
            if not self._packed:
                self._packed = self._source.read(_CHUNK)
                if not self._packed:
                    if self._is_fresh:
                        return b""
                    raise PackedError("the last member is cut off", is_cut=True)
            if self._is_fresh:
                self._packed = self._packed.lstrip(b"\0")  # padding between members is allowed
                if not self._packed:
                    continue
            try:
                data = self._member.decompress(self._packed, size)
            except zlib.error as error:
                raise PackedError(str(error), is_cut=False) from error
            self._is_fresh = False
            self._packed = self._member.unconsumed_tail
            if self._member.eof:
                self._packed = self._member.unused_data
                self._member = zlib.decompressobj(wbits=31)
                self._is_fresh = True
            if data:
                return data


class Frames:
    """The frames of a zstd as one stream; none may ask for a window of more than 128 MiB (libzstd's bound).

    By Arrow, since the package zstandard does not tell a stream that was cut off from one that ends.
    """

    def __init__(self, packed: BinaryIO) -> None:
        self._stream = pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), "zstd")

    def read(self, size: int, /) -> bytes:
        """Up to size bytes, at least one but at the end; raises PackedError."""
        try:
            data: bytes = self._stream.read(size)
        except OSError as error:
            if error.errno is not None:  # of the file below, not of its content
                raise
            raise PackedError(str(error), is_cut="Truncated" in str(error)) from error
        return data


_OPEN: Mapping[str, Callable[[BinaryIO], _Readable]] = {"gzip": Members, "zstd": Frames}


def packing(head: bytes) -> str:
    """How a stream that begins with these bytes is compressed: gzip, zstd, or "" for not at all."""
    if head.startswith(GZIP):
        return "gzip"
    if head.startswith(ZSTD) or (head[1:4] == _SKIPPABLE and head[0] >> 4 == 5):
        return "zstd"
    return ""


def unpacked(file: io.BufferedReader, path: Path, limit: int = LIMIT) -> io.BufferedReader:
    """The stream without its compression, of up to DEEPEST layers; as it is where there is none.

    path     for what is said of it
    limit    decompressed bytes at which reading stops
    raises   InputError while reading, where a layer ends early, is damaged, holds more than limit, or more
             than RATIO times the size of the file (after RATIO_FROM bytes)
    """
    stream = file
    for _ in range(DEEPEST):
        kind = packing(stream.peek(4)[:4])
        if not kind:
            break
        stream = io.BufferedReader(_Unpacked(kind, stream, file, path, limit), _CHUNK)
    return stream


class _Unpacked(io.RawIOBase):
    """One layer taken off. file: what lies on the disk, of which `packed` is the content or a layer above."""

    def __init__(self, kind: str, packed: BinaryIO, file: BinaryIO, path: Path, limit: int) -> None:
        super().__init__()
        self._kind, self._file, self._path, self._limit = kind, file, path, limit
        self._content = _OPEN[kind](packed)
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer)
        try:
            data = self._content.read(len(view))
        except PackedError as error:
            what, fix = (
                ("ends early", "copy it again, in full")
                if error.is_cut
                else ("is damaged", "copy it again, in binary mode")
            )
            raise self._error(what, str(error), fix) from error
        view[: len(data)] = data
        self._given += len(data)
        self._bound()
        return len(data)

    def _bound(self) -> None:
        if self._given > self._limit:
            raise self._error(
                "is too large", f"it holds more than {self._limit} bytes", "split it, or cut it"
            )
        if self._given > RATIO_FROM and self._given > RATIO * (read := self._file.tell()):
            raise self._error(
                "looks like a decompression bomb",
                f"{read} bytes hold more than {self._given}",
                "decompress it yourself if you trust it, and give the plain file",
            )

    def _error(self, what: str, why: str, fix: str) -> InputError:
        return InputError(
            f"the {self._kind} file {self._path.name} {what}", where=str(self._path), why=why, fix=fix
        )

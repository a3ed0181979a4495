"""A file as a stream of its decompressed bytes, bounded; and what it is when it is no text at all."""

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tracemortem.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LIMIT = 64 << 30
RATIO = 1000
RATIO_FROM = 64 << 20
HEAD = 64 << 10
_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
_RECOMPRESS = "decompress it first, or compress it with gzip"
_TEXT = "save it as UTF-8 text"

# (offset, bytes) -> what it is, what to do
_MAGIC: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"\x28\xb5\x2f\xfd", "a zstd file", _RECOMPRESS),
    (0, b"\xfd7zXZ\0", "an xz file", _RECOMPRESS),
    (0, b"BZh", "a bzip2 file", _RECOMPRESS),
    (0, b"\x04\x22\x4d\x18", "an lz4 file", _RECOMPRESS),
    (0, b"PK\x03\x04", "a zip archive", "unpack it and give the folder"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it and give the folder"),
    (257, b"ustar", "a tar archive", "unpack it and give the folder"),
    (0, b"\x89PNG", "a PNG picture", "give the data behind the picture"),
    (0, b"\xff\xd8\xff", "a JPEG picture", "give the data behind the picture"),
    (0, b"GIF8", "a GIF picture", "give the data behind the picture"),
    (0, b"%PDF", "a PDF document", "give the data behind the document"),
    (0, b"PAR1", "a Parquet file", "export it as the text it was made from"),
    (8, b"DUCK", "a DuckDB file", "give the recordings it was made from, or read it with --db"),
    (0, b"SQLite format 3", "an SQLite file", "export what is in it as text"),
    (0, b"\x7fELF", "a program", "leave it out"),
    (0, b"\xff\xfe", "text in UTF-16", _TEXT),
    (0, b"\xfe\xff", "text in UTF-16", _TEXT),
    (0, b"version https://git-lfs", "a Git LFS pointer, not the file", "fetch the file: git lfs pull"),
)
_HTML = (b"<!doctype html", b"<html")


def foreign(head: bytes) -> tuple[str, str] | None:
    """What a file is that cannot be telemetry, and what to do about it; None where it may be.

    head   the beginning of the file, decompressed or not
    """
    if not head:
        return "an empty file", "check how it was exported; an empty recording shows nothing"
    for offset, magic, what, fix in _MAGIC:
        if head[offset : offset + len(magic)] == magic:
            return what, fix
    if head.lstrip()[:20].lower().startswith(_HTML):
        return "an HTML page", "look at it: an error or login page was saved in place of the data"
    if not head.strip(b"\0"):
        return "a run of NUL bytes", "it was cut while being written to (copytruncate); give the rotated file"
    if b"\0" in head and _is_binary(head):
        return "a binary file", "export it as text: OTLP as JSON lines, metrics as Prometheus text"
    return None


def head(path: Path, size: int = HEAD) -> bytes:
    """The first `size` decompressed bytes, or as many as there are; a damaged gzip gives what it holds.

    raises   OSError where the file cannot be opened
    """
    with path.open("rb") as file:
        raw = file.read(max(size, HEAD))
    if not raw.startswith(_GZIP):
        return raw[:size]
    text = b""
    while raw.startswith(_GZIP) and len(text) < size:
        member = zlib.decompressobj(wbits=31)
        try:
            text += member.decompress(raw, size - len(text))
        except zlib.error:
            break
        raw = member.unused_data.lstrip(b"\0")
    return text


@contextmanager
def opened(path: Path, limit: int = LIMIT) -> Iterator[BinaryIO]:
    """The file as a stream of its decompressed bytes: plain, or gzip of any number of members.

    limit    decompressed bytes at which reading stops
    raises   InputError where the file cannot be opened; and while reading, where a gzip ends early, is
             damaged, holds more than limit, or more than RATIO times its size (after RATIO_FROM bytes)
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(
            f"{path.name} cannot be opened",
            where=str(path),
            why=error.strerror or str(error),
            fix="check that it is there and readable",
        ) from error
    with file:
        if file.peek(2)[:2] == _GZIP:
            with io.BufferedReader(_Gunzipped(file, path, limit), _CHUNK) as stream:
                yield stream
        else:
            yield file


class _Gunzipped(io.RawIOBase):
    """The members of a gzip file as one stream. (gzip.GzipFile would neither bound nor name the file.)"""

    def __init__(self, file: BinaryIO, path: Path, limit: int) -> None:
        super().__init__()
        self._file, self._path, self._limit = file, path, limit
        self._member = zlib.decompressobj(wbits=31)
        self._packed = b""
        self._read = self._given = 0
        self._is_fresh = True  # nothing of the current member was seen yet

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer)
        data = self._next(len(view))
        view[: len(data)] = data
        self._given += len(data)
        self._bound()
        return len(data)

    def _next(self, size: int) -> bytes:
        while True:
            if not self._packed:
                self._packed = self._file.read(_CHUNK)
                self._read += len(self._packed)
                if not self._packed:
                    if self._is_fresh:
                        return b""
                    raise self._error("ends early", "the last member is cut off", "copy it again, in full")
            if self._is_fresh:
                self._packed = self._packed.lstrip(b"\0")  # padding between members is allowed
                if not self._packed:
                    continue
            try:
                data = self._member.decompress(self._packed, size)
            except zlib.error as error:
                raise self._error("is damaged", str(error), "copy it again, in binary mode") from error
            self._is_fresh = False
            self._packed = self._member.unconsumed_tail
            if self._member.eof:
                self._packed = self._member.unused_data
                self._member = zlib.decompressobj(wbits=31)
                self._is_fresh = True
            if data:
                return data

    def _bound(self) -> None:
        if self._given > self._limit:
            raise self._error(
                "is too large", f"it holds more than {self._limit} bytes", "split it, or cut it"
            )
        if self._given > RATIO_FROM and self._given > RATIO * self._read:
            raise self._error(
                "looks like a decompression bomb",
                f"{self._read} bytes hold more than {self._given}",
                "decompress it yourself if you trust it, and give the plain file",
            )

    def _error(self, what: str, why: str, fix: str) -> InputError:
        return InputError(f"the gzip file {self._path.name} {what}", where=str(self._path), why=why, fix=fix)


def _is_binary(head: bytes) -> bool:
    # a log cut by copytruncate begins with NULs and goes on as text; otherwise control bytes are no text
    rest = head.lstrip(b"\0")
    return sum(byte < 9 or 13 < byte < 27 for byte in rest) > len(rest) // 100

"""A file as a stream of its decompressed bytes, bounded; and what it is when it is no text at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tracemortem.errors import InputError
from tracemortem.sources.unpacked import DEEPEST, GZIP, LIMIT, ZSTD, unpacked

HEAD = 64 << 10
_RECOMPRESS = "decompress it first, or compress it with gzip or zstd"
_NESTED = f"a file compressed more than {DEEPEST} times over"
_TEXT = "save it as UTF-8 text"
_TSDB = "promtool tsdb dump FOLDER, of the folder that holds all blocks"

# (offset, bytes) -> what it is, what to do
_MAGIC: tuple[tuple[int, bytes, str, str], ...] = (
    (0, GZIP, _NESTED, _RECOMPRESS),
    (0, ZSTD, _NESTED, _RECOMPRESS),
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
    (0, b"\xba\xaa\xd7\x00", "the index of a block of Prometheus' own database", _TSDB),
    (0, b"\x85\xbd\x40\xdd", "samples of Prometheus' own database", _TSDB),
    (0, b"\x01\x30\xba\x30", "a list of what was deleted from Prometheus' own database", _TSDB),
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

    head   the beginning of the file, decompressed
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
    """The first `size` decompressed bytes, or as many as there are; of what is damaged, what it holds.

    raises   OSError where the file cannot be opened, InputError where nothing of it can be decompressed
    """
    text = b""
    with path.open("rb") as file:
        stream = unpacked(file, path)
        try:
            while len(text) < size and (more := stream.read1(size - len(text))):
                text += more
        except InputError:
            if not text:
                raise
    return text


@contextmanager
def opened(path: Path, limit: int = LIMIT) -> Iterator[BinaryIO]:
    """The file as a stream of its decompressed bytes: plain, or gzip or zstd of any number of members.

    limit    decompressed bytes at which reading stops
    raises   InputError where the file cannot be opened; and while reading, as `unpacked` does
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
        yield unpacked(file, path, limit)


def _is_binary(head: bytes) -> bool:
    # a log cut by copytruncate begins with NULs and goes on as text; otherwise control bytes are no text
    rest = head.lstrip(b"\0")
    return sum(byte < 9 or 13 < byte < 27 for byte in rest) > len(rest) // 100

"""A text stream, block by block, cut at line ends: memory stays bounded whatever the file is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import polars as pl

from tracemortem.sources.batch import REJECTS, excerpt

BLOCK = 16 << 20
LONGEST = 64 << 20  # of what is parsed at once: a document, a message
LONGEST_LINE = 16 << 20  # of text: a line that long costs each reader less than 500 MiB
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Block:
    """Whole lines, or the place of one line too long to be held.

    text        the lines; only the last of a file may lack its line end
    first_line  number of the first line, from 1
    bytes_read  bytes consumed, those of a line too long included
    overlong    how that line begins; None for a block of lines
    """

    text: bytes
    first_line: int
    bytes_read: int
    overlong: str | None = None


def blocks(stream: BinaryIO, size: int = BLOCK, longest: int = LONGEST_LINE) -> Iterator[Block]:
    """The lines of a stream in blocks of about `size` bytes.

    A line longer than `longest` (at least `size`) is given as its place and its beginning, never held whole.
    """
    line, tail, unread = 1, b"", 0
    overlong: str | None = None
    for read, skipped in _chunks(stream, size):
        chunk = read
        unread += skipped
        end = chunk.find(b"\n")
        if overlong is None and len(tail) + (len(chunk) if end < 0 else end) > longest:
            overlong = excerpt(tail + chunk)
            unread, tail = unread + len(tail), b""
        if overlong is not None:
            if end < 0:
                unread += len(chunk)
                continue
            yield Block(b"", line, unread + end + 1, overlong)
            line, unread, overlong, chunk = line + 1, 0, None, chunk[end + 1 :]
        cut = chunk.rfind(b"\n") + 1
        if cut:
            text = tail + chunk[:cut]
            yield Block(text, line, unread + len(text))
            line, unread, tail = line + text.count(b"\n"), 0, chunk[cut:]
        else:
            tail += chunk
    if overlong is not None or tail:
        yield Block(tail, line, unread + len(tail), overlong)


def _chunks(stream: BinaryIO, size: int) -> Iterator[tuple[bytes, int]]:
    """Chunks of the stream, and how many bytes of a byte order mark were taken off before each."""
    chunk = stream.read(max(size, len(_BOM)))
    if chunk.startswith(_BOM):
        yield chunk[len(_BOM) :], len(_BOM)
        chunk = stream.read(size)
    while chunk:
        yield chunk, 0
        chunk = stream.read(size)


def text(block: Block) -> bytes:
    """The text of a block as valid UTF-8: what is invalid is replaced.

    NUL bytes, which copytruncate leaves in a log, are dropped.
    """
    valid = block.text if block.text.isascii() else block.text.decode("utf-8", "replace").encode()
    return valid.replace(b"\0", b"") if b"\0" in valid else valid


def lines(block: Block) -> pl.DataFrame:
    """A block as columns line (UInt64) and text (String, valid UTF-8, without its end, CRLF or LF)."""
    # The leading line end keeps Polars from taking a text that begins like a zlib stream for one ("x^").
    frame = pl.read_lines(b"\n" + text(block), name="text").slice(1)
    number = pl.int_range(block.first_line, block.first_line + pl.len(), dtype=pl.UInt64)
    return frame.select(line=number, text="text")


def overlong(block: Block) -> pl.DataFrame:
    """The reject that a line too long to be held makes."""
    reason = f"a line of {block.bytes_read} bytes, too long to be held"
    row = {"line": [block.first_line], "reason": [reason], "excerpt": [block.overlong]}
    return pl.DataFrame(row, schema=dict(REJECTS))

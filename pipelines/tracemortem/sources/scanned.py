"""A block of lines, walked by a template: its lines and their fields as frames that point into the block."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tracemortem.sources import walk
from tracemortem.sources.template import Template


@dataclass(frozen=True)
class Scanned:
    """What a template made of a block. No text is copied: all frames hold the block.

    lines   every line: columns line (UInt64) and text
    is_read whether the template read it, one Boolean a line
    found   the fields of those it read, a column a group
    """

    lines: pl.DataFrame
    is_read: pl.Series
    found: pl.DataFrame


def scan(text: bytes, first_line: int, template: Template) -> Scanned:
    """Find the lines of a text, valid UTF-8 of less than 2 GiB, and their fields."""
    data = np.frombuffer(text, np.uint8)
    begins, lengths = _lines(data)
    is_read, places, sizes = walk.fields(
        data,
        begins,
        lengths,
        template.literals,
        template.literal_at,
        template.parts,
        template.classes,
        template.masks,
        len(template.groups),
    )
    number = pl.int_range(first_line, first_line + len(begins), dtype=pl.UInt64, eager=True)
    read = slice(None) if is_read.all() else is_read
    return Scanned(
        pl.DataFrame({"line": number, "text": _series(text, data, begins, lengths)}),
        pl.Series(is_read),
        pl.DataFrame(
            {
                name: _series(text, data, places[column, read], sizes[column, read])
                for column, name in enumerate(template.groups)
            }
        ),
    )


def _lines(data: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Begin and length of each line, without its end, LF or CRLF; the last may lack it."""
    ends = np.flatnonzero(data == ord("\n"))
    begins = np.append(0, ends + 1)
    ends = np.append(ends, data.size)
    if begins[-1] == data.size:
        begins, ends = begins[:-1], ends[:-1]
    ends = ends - ((ends > begins) & (data[np.maximum(ends - 1, 0)] == ord("\r")))
    return begins.astype(np.int32), (ends - begins).astype(np.int32)


def _series(
    text: bytes, data: NDArray[np.uint8], begins: NDArray[np.int32], lengths: NDArray[np.int32]
) -> pl.Series:
    views = walk.views(data, begins, lengths)
    buffers = [None, pa.py_buffer(views), pa.py_buffer(text)]
    return pl.Series(pa.Array.from_buffers(pa.string_view(), len(views), buffers))

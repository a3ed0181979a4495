"""What a reader hands over: rows of raw tables, and the records that could not be read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

TIME = pl.Datetime("us", "UTC")

REJECTS: Mapping[str, pl.DataType] = {
    "line": pl.UInt64(),
    "reason": pl.String(),
    "excerpt": pl.String(),
}
SERIES: Mapping[str, pl.DataType] = {
    "series_no": pl.UInt32(),
    "name": pl.String(),
    "record": pl.String(),
    "field": pl.String(),
    "times": pl.Float64(),
    "is_counter": pl.Boolean(),
    "metric_type": pl.String(),
    "unit": pl.String(),
    "gpu": pl.String(),
    "host": pl.String(),
    "replica": pl.String(),
    "model": pl.String(),
    "service": pl.String(),
    "labels": pl.List(pl.Struct({"key": pl.String(), "value": pl.String()})),
}
SAMPLE: Mapping[str, pl.DataType] = {
    "line": pl.UInt64(),
    "series_no": pl.UInt32(),
    "at": TIME,
    "value": pl.Float64(),
}
EXCERPT = 200


@dataclass(frozen=True)
class Batch:
    """What one block of a file held. Nothing is half read: records == stored + rejects.height.

    rows        raw table name -> rows, columns exactly as that table declares them
    rejects     line (UInt64, 1-based, in the decompressed file), reason, excerpt (at most 200 characters)
    records     records seen: spans, data points, log records, samples, access lines, events
    bytes_read  decompressed bytes this batch consumed
    stored      records that became rows
    clock       where the times of records that carry none come from, as it is reported; "": all carry theirs
    rounds      how many rounds of samples that carry no time the file held up to here
    names       (column of `span`, attribute) -> spans that took the column from that attribute
    """

    rows: Mapping[str, pl.DataFrame]
    rejects: pl.DataFrame
    records: int
    bytes_read: int
    stored: int
    clock: str = ""
    rounds: int = 0
    names: Mapping[tuple[str, str], int] = field(default_factory=dict)


def excerpt(beginning: bytes) -> str:
    """How something begins, as the excerpt of a reject; UTF-8 takes up to four bytes a character."""
    return beginning[: 4 * EXCERPT].decode("utf-8", "replace")[:EXCERPT]


def rejected(lines: pl.DataFrame) -> pl.DataFrame:
    """Rejects out of lines with their line number, text and reason (columns line, text, reason)."""
    return lines.select("line", "reason", excerpt=pl.col("text").str.slice(0, EXCERPT)).cast(
        pl.Schema(REJECTS)
    )

"""Whole series, as they come in columns -> rows of `series` and `sample`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from tracemortem.sources import blocks
from tracemortem.sources.batch import SAMPLE, SERIES, TIME, Batch
from tracemortem.sources.blocks import Block
from tracemortem.sources.catalogue import Catalogue
from tracemortem.sources.series import from_labels, without_blanks


@dataclass(frozen=True)
class Points:
    """Some samples of one series.

    line    of each sample in the file, or of all of them
    at      Datetime(us, UTC), none null
    value   Float64; null or NaN: no value
    """

    name: str
    labels: Mapping[str, str]
    line: int | pl.Series
    at: pl.Series
    value: pl.Series


def rows(points: Sequence[Points], catalogue: Catalogue) -> Mapping[str, pl.DataFrame]:
    """The rows of `series` (those not handed out before) and `sample`, in the order of the points."""
    numbers = catalogue.series([(one.name, one.labels) for one in points])
    frames = [pl.DataFrame(schema=dict(SAMPLE))]
    for one, number in zip(points, numbers, strict=True):
        value = without_blanks(pl.col("value").fill_nan(None), pl.lit(one.name))
        frames.append(_samples(one, number).with_columns(value=value))
        # figures that stand in labels are samples beside the record, which stays the one point
        for described, figure in from_labels(one.name, one.labels):
            beside = catalogue.of_label(described, one.name, one.labels)
            frames.append(_samples(one, beside).with_columns(value=pl.lit(figure)))
    return {"series": catalogue.take_new(), "sample": pl.concat(frames)}


def without_a_number(records: pl.DataFrame, found: Sequence[Points]) -> pl.DataFrame:
    """Those of the records (column line) that gave no sample, with the reason why they are rejects."""
    lines = [pl.Series([one.line]) if isinstance(one.line, int) else one.line for one in found]
    measured = pl.concat([line.cast(pl.UInt64) for line in lines] or [pl.Series([], dtype=pl.UInt64)])
    return records.filter(~pl.col("line").is_in(measured.implode())).with_columns(
        reason=pl.lit("no number in it")
    )


def overlong(block: Block) -> Batch:
    """What a reader of series gives for a line too long to be held: one record, and its reject."""
    none = {"series": pl.DataFrame(schema=dict(SERIES)), "sample": pl.DataFrame(schema=dict(SAMPLE))}
    return Batch(none, blocks.overlong(block), 1, block.bytes_read, 0)


def _samples(one: Points, number: int) -> pl.DataFrame:
    frame = pl.DataFrame({"at": one.at.cast(TIME), "value": one.value.cast(pl.Float64)})
    line = pl.lit(one.line, pl.UInt64) if isinstance(one.line, int) else one.line.cast(pl.UInt64)
    return frame.select(line=line, series_no=pl.lit(number, pl.UInt32), at="at", value="value")

"""Whole series, as they come in columns -> rows of `series` and `sample`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from tracemortem.sources import blocks
from tracemortem.sources.batch import SAMPLE, SERIES, TIME, Batch
from tracemortem.sources.blocks import Block
from tracemortem.sources.catalogue import Catalogue
from tracemortem.sources.series import from_labels, without_blanks

SAMPLES = pl.Schema({"owner": pl.UInt32(), "line": pl.UInt64(), "at": TIME, "value": pl.Float64()})
_FIGURES = {"owner": pl.UInt32, "series_no": pl.UInt32, "value": pl.Float64}


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
    samples = [_samples(one, owner) for owner, one in enumerate(points)]
    flat = pl.concat([pl.DataFrame(schema=SAMPLES), *samples])
    return rows_of([(one.name, one.labels) for one in points], flat, catalogue)


def rows_of(
    named: Sequence[tuple[str, Mapping[str, str]]], samples: pl.DataFrame, catalogue: Catalogue
) -> Mapping[str, pl.DataFrame]:
    """The same of samples that lie in one table, as those of many short series do.

    named     name and labels of each series
    samples   columns as SAMPLES; owner: the place of its series in `named`
    """
    series = pl.DataFrame(
        {"series_no": catalogue.series(named), "name": [name for name, _ in named]},
        schema={"series_no": pl.UInt32, "name": pl.String},
    )
    given = samples.with_columns(series.select(pl.all().gather(samples["owner"])))
    value = without_blanks(pl.col("value").fill_nan(None), pl.col("name"))
    # figures that stand in labels are samples beside the record, which stays the one point
    figures = [
        (owner, catalogue.of_label(described, name, labels), figure)
        for owner, (name, labels) in enumerate(named)
        for described, figure in from_labels(name, labels)
    ]
    beside = pl.DataFrame(figures, schema=_FIGURES, orient="row")
    beside = samples.drop("value").join(beside, on="owner", maintain_order="left")
    found = [
        frame.select(*SAMPLE).cast(pl.Schema(SAMPLE)) for frame in (given.with_columns(value=value), beside)
    ]
    return {"series": catalogue.take_new(), "sample": pl.concat(found)}


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


def _samples(one: Points, owner: int) -> pl.DataFrame:
    frame = pl.DataFrame({"at": one.at.cast(TIME), "value": one.value.cast(pl.Float64)})
    line = pl.lit(one.line, pl.UInt64) if isinstance(one.line, int) else one.line.cast(pl.UInt64)
    return frame.select(owner=pl.lit(owner, pl.UInt32), line=line, at="at", value="value")

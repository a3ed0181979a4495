"""Prometheus text and OpenMetrics, any number of scrapes one after another -> series and samples.

The text before a value is one key: each distinct key is parsed once, escapes and all, and the rest is
column-wise. (A regular expression over every line takes 0.6 CPU s for 42 MB, a find and two slices 0.1.)
"""

from collections.abc import Iterator
from typing import BinaryIO

import polars as pl

from tracemortem.sources import blocks, points
from tracemortem.sources.batch import SAMPLE, Batch, rejected
from tracemortem.sources.catalogue import Catalogue
from tracemortem.sources.clock import Clock
from tracemortem.sources.rounds import Rounds
from tracemortem.sources.series import without_blanks

# A whole number below is seconds (OpenMetrics), from there on milliseconds: as seconds 1e11 is the year 5138,
# as milliseconds 1973.
_MILLISECONDS_FROM = 10**11
_MILLISECONDS_TO = 10**14
_META = r"^#[ \t]*(?:TYPE|UNIT)[ \t]"
_EXEMPLAR = r' # \{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\} \S+(?: \S+)?$'
_SAMPLE = r"^(?P<key>[^\s{]*[ \t]*(?:\{.*\})?)[ \t]*(?P<number>\S+)(?:[ \t]+(?P<stamp>\S+))?$"


def read(stream: BinaryIO, clock: Clock | None = None, *, is_dump: bool = False) -> Iterator[Batch]:
    """The samples of an exposition as rows of `series` and `sample`; every sample is stored or a reject.

    clock    the times of samples without a timestamp, scrape by scrape; None: they are rejects
    is_dump  timestamps are milliseconds whatever their size, as promtool tsdb dump writes them

    A scrape ends where a series without a timestamp comes again. A series is given in the batch where it
    first occurs. vllm:cache_config_info carries its figures in labels: they become series and samples of
    their own beside it, while the record stays the one line.
    """
    catalogue, rounds = Catalogue(), Rounds()
    for block in blocks.blocks(stream):
        if block.overlong is not None:
            yield points.overlong(block)
        else:
            yield _batch(block, catalogue, rounds, clock or Clock(), 0 if is_dump else _MILLISECONDS_FROM)


def read_dump(stream: BinaryIO, clock: Clock | None = None) -> Iterator[Batch]:
    """What promtool tsdb dump prints, whose timestamps are milliseconds."""
    return read(stream, clock, is_dump=True)


def _batch(
    block: blocks.Block, catalogue: Catalogue, rounds: Rounds, clock: Clock, millis_from: int
) -> Batch:
    lines = blocks.lines(block).with_columns(pl.col("text").str.strip_chars(" \t"))
    is_comment = lines["text"].str.starts_with("#")
    comments = lines["text"].filter(is_comment)
    catalogue.note(comments.filter(comments.str.contains(_META)))
    samples = _numbered(lines.filter(~is_comment & (lines["text"] != "")), catalogue)
    samples = samples.with_columns(value=pl.col("number").cast(pl.Float64, strict=False), at=_at(millis_from))
    samples, is_timed = _timed(samples, rounds, clock)
    samples = samples.with_columns(reason=_reason(clock))
    kept = samples.filter(pl.col("reason").is_null())
    kept = kept.with_columns(value=without_blanks(pl.col("value").fill_nan(None), pl.col("name")))
    extras = kept.join(catalogue.extras(), on="key", how="inner")
    rows = {
        "series": catalogue.take_new(),
        "sample": pl.concat(
            [
                kept.select("line", "series_no", "at", "value"),
                extras.select("line", "at", series_no="extra_no", value="extra_value").select(*SAMPLE),
            ]
        ),
    }
    rejects = rejected(samples.filter(pl.col("reason").is_not_null()))
    source = clock.source if is_timed else ""
    return Batch(rows, rejects, samples.height, block.bytes_read, kept.height, source, rounds.count)


def _timed(samples: pl.DataFrame, rounds: Rounds, clock: Clock) -> tuple[pl.DataFrame, bool]:
    """The samples with the column round, and those without a timestamp placed; whether there were any."""
    is_bare = samples["stamp"].is_null() & samples["series_no"].is_not_null()
    if not is_bare.any():
        return samples.with_columns(round=pl.lit(None, pl.Int64)), False
    bare = samples.filter(is_bare).select("line", round=rounds.number(samples.filter(is_bare)["series_no"]))
    samples = samples.join(bare, on="line", how="left", maintain_order="left")
    return samples.with_columns(at=pl.coalesce("at", clock.at(pl.col("round")))), True


def _numbered(lines: pl.DataFrame, catalogue: Catalogue) -> pl.DataFrame:
    """Columns line, text, key, number and stamp (texts), series_no, name, fault."""
    if lines["text"].str.contains(" # {", literal=True).any():
        lines = lines.with_columns(pl.col("text").str.replace(_EXEMPLAR, ""))
    samples = _joined(_cut(lines), catalogue)
    is_odd = samples["fault"].is_not_null()
    if not is_odd.any():
        return samples
    # Rare: a "} " inside a label value, a value right behind the brace, text beyond ASCII (find counts bytes,
    # slice characters), tabs. What is still faulty then is a reject.
    slowly = _joined(_matched(samples.filter(is_odd).select("line", "text")), catalogue)
    return pl.concat([samples.filter(~is_odd), slowly]).sort("line")


def _cut(lines: pl.DataFrame) -> pl.DataFrame:
    text = pl.col("text")
    labelled = text.str.find("} ", literal=True) + 1
    cut = pl.coalesce(labelled, text.str.find(" ", literal=True))
    return (
        lines.with_columns(cut=cut)
        .with_columns(key=text.str.slice(0, "cut"), rest=text.str.slice("cut").str.strip_chars_start(" "))
        .with_columns(rest=pl.col("rest").str.splitn(" ", 2).struct.rename_fields(["number", "stamp"]))
        .unnest("rest")
        .select("line", "text", "key", "number", pl.col("stamp").str.strip_chars_start(" "))
    )


def _matched(lines: pl.DataFrame) -> pl.DataFrame:
    return lines.with_columns(found=pl.col("text").str.extract_groups(_SAMPLE)).unnest("found")


def _joined(parts: pl.DataFrame, catalogue: Catalogue) -> pl.DataFrame:
    joined = _named(parts, catalogue.latest)  # most blocks hold the keys of the one before
    if joined["series_no"].null_count():
        joined = _named(parts, catalogue.number(parts["key"].unique(maintain_order=True)))
    no_key = pl.when(pl.col("series_no").is_null()).then(
        pl.lit("not of the form name{labels} value timestamp")
    )
    return joined.with_columns(fault=pl.coalesce("fault", no_key))


def _named(parts: pl.DataFrame, keys: pl.DataFrame) -> pl.DataFrame:
    return parts.join(keys, on="key", how="left", nulls_equal=True, maintain_order="left")


def _at(millis_from: int) -> pl.Expr:
    whole = pl.col("stamp").cast(pl.Int64, strict=False)
    micros = (
        pl.when(whole.is_between(0, millis_from, closed="left"))
        .then(whole * 1_000_000)
        .when(whole.is_between(0, _MILLISECONDS_TO, closed="left"))
        .then(whole * 1000)
    )
    seconds = pl.when(whole.is_null()).then(pl.col("stamp")).cast(pl.Float64, strict=False)
    from_seconds = pl.when(seconds.is_between(0, _MILLISECONDS_FROM)).then((seconds * 1e6).round())
    return pl.coalesce(micros, from_seconds.cast(pl.Int64, strict=False)).cast(pl.Datetime("us", "UTC"))


def _reason(clock: Clock) -> pl.Expr:
    return pl.coalesce(
        "fault",
        pl.when(pl.col("number").is_null() | (pl.col("number") == "")).then(pl.lit("no value")),
        pl.when(pl.col("value").is_null()).then(pl.format("the value is no number: {}", _short("number"))),
        pl.when(pl.col("stamp").is_null() & pl.col("at").is_null()).then(clock.lacking(pl.col("round"))),
        pl.when(pl.col("at").is_null()).then(pl.format("the timestamp is no time: {}", _short("stamp"))),
    )


def _short(column: str) -> pl.Expr:
    return pl.col(column).str.slice(0, 40)

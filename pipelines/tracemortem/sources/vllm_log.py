"""The lines in which vLLM logs its statistics -> series of each engine."""

from collections.abc import Iterator
from typing import BinaryIO

import polars as pl

from tracemortem.sources import blocks, points
from tracemortem.sources.batch import Batch, rejected
from tracemortem.sources.catalogue import Catalogue
from tracemortem.sources.clock import Clock
from tracemortem.sources.points import Points

LINE = r"Avg prompt throughput: "
_STAMP = r"(?:INFO|DEBUG) (\d\d-\d\d \d\d:\d\d:\d\d)"
_ENGINE = r"Engine (\d+):"
# by key, never by place: parts stand between the others when they are not zero
_FIGURES: tuple[tuple[str, str], ...] = (
    ("prompt_throughput", r"Avg prompt throughput: ([0-9.]+) tokens/s"),
    ("generation_throughput", r"Avg generation throughput: ([0-9.]+) tokens/s"),
    ("running", r"Running: (\d+) reqs"),
    ("waiting", r"(?:Waiting|Pending): (\d+) reqs"),
    ("kv_cache_usage", r"(?:GPU|[A-Z]+) KV cache usage: ([0-9.]+)%"),
    ("prefix_cache_hit_rate", r"[,:] Prefix cache hit rate: (?:GPU: )?([0-9.]+)%"),
)
_HALF_A_YEAR_S = 183 * 86400


def read(stream: BinaryIO, clock: Clock) -> Iterator[Batch]:
    """The statistics as series vllm:log.<figure>; a line of statistics is a record, other lines are none.

    clock   the zone of the times, and a time in the year that they leave out: the nearest is taken

    An engine that is idle logs nothing: its figures are absent then, not zero.
    """
    catalogue = Catalogue()
    for block in blocks.blocks(stream):
        if block.overlong is not None:
            yield points.overlong(block)
        else:
            yield _batch(block, clock, catalogue)


def _batch(block: blocks.Block, clock: Clock, catalogue: Catalogue) -> Batch:
    lines = blocks.lines(block).filter(pl.col("text").str.contains(LINE, literal=True))
    text = pl.col("text")
    lines = lines.with_columns(
        at=_at(text.str.extract(_STAMP), clock),
        engine=text.str.extract(_ENGINE).fill_null(""),
        **{name: text.str.extract(pattern).cast(pl.Float64, strict=False) for name, pattern in _FIGURES},
    )
    kept = lines.filter(pl.col("at").is_not_null())
    untimed = lines.filter(pl.col("at").is_null()).with_columns(
        reason=pl.lit("no time before the statistics")
    )
    found: list[Points] = []
    for of_engine in kept.partition_by("engine", maintain_order=True):
        engine = of_engine["engine"][0]
        labels = {"engine": engine, "instance": f"engine {engine}"} if engine else {}
        for name, _ in _FIGURES:
            given = of_engine.filter(pl.col(name).is_not_null())
            if given.height:
                found.append(Points(f"vllm:log.{name}", labels, given["line"], given["at"], given[name]))
    source = f"the year from {clock.source}" if kept.height and clock.source else ""
    rows = points.rows(found, catalogue)
    rejects = rejected(pl.concat([untimed, points.without_a_number(kept, found)]).sort("line"))
    stored = lines.height - rejects.height
    return Batch(rows, rejects, lines.height, block.bytes_read, stored, source)


def _at(stamp: pl.Expr, clock: Clock) -> pl.Expr:
    """The time of a month, a day and an hour in the year that brings it nearest to the clock's."""
    about = clock.first_at or clock.last_at
    if about is None:
        return pl.lit(None, pl.Datetime("us", "UTC"))
    near = pl.lit(about, pl.Datetime("us", "UTC"))
    years = [about.year + shift for shift in (0, -1, 1)]
    read = [clock.local(pl.format(f"{year}-{{}}", stamp), "%Y-%m-%d %H:%M:%S") for year in years]
    half = pl.duration(seconds=_HALF_A_YEAR_S)
    return pl.coalesce([pl.when((at - near).abs() <= half).then(at) for at in read])

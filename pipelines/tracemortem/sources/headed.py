"""Tables whose header comes again, of tools left running -> series; where rows have no time, it is told."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import polars as pl

from tracemortem.sources import blocks, points
from tracemortem.sources.batch import REJECTS, Batch, rejected
from tracemortem.sources.catalogue import Catalogue
from tracemortem.sources.clock import Clock
from tracemortem.sources.points import Points
from tracemortem.sources.rounds import Rounds


@dataclass
class Table:
    """What is known of a file when a block begins.

    header      the last one; "": none yet
    is_counted  whether rows had their time told by the clock
    """

    clock: Clock
    header: str = ""
    is_counted: bool = False
    _catalogue: Catalogue = field(default_factory=Catalogue)
    _rounds: Rounds = field(default_factory=Rounds)
    _owners: dict[str, int] = field(default_factory=dict)

    def ticked(self, rows: pl.DataFrame, owner: pl.Series) -> pl.DataFrame:
        """The rows with the columns at and reason (why there is none).

        owner   whose each row is, as text; a tick ends where an owner comes again
        """
        for one in owner.unique(maintain_order=True):
            self._owners.setdefault(one, len(self._owners))
        number = self._rounds.number(owner.replace_strict(self._owners, return_dtype=pl.Int64))
        rows = rows.with_columns(number.alias("round"))
        return rows.with_columns(
            at=self.clock.at(pl.col("round")), reason=self.clock.lacking(pl.col("round"), "tick")
        )

    def batch(self, block: blocks.Block, lines: pl.DataFrame, section: "Section") -> Batch:
        """The records of a block.

        lines   columns line, text, header (null where a line is none) and is_record; no blank ones
        """
        lines = lines.with_columns(pl.col("header").forward_fill().fill_null(self.header))
        if lines.height:
            self.header = lines["header"][-1]
        lines = lines.filter("is_record").with_columns(change=pl.col("header").rle_id())
        found: list[Points] = []
        refused = [pl.DataFrame(schema=dict(REJECTS))]
        # the same header comes again every few rows, or with each: only a change begins anew
        for one in lines.partition_by("change", maintain_order=True):
            more, wrong = section(one.select("line", "text"), one["header"][0], self)
            found += more
            refused.append(rejected(wrong))
        rejects = pl.concat(refused)
        source = self.clock.source if self.is_counted else ""
        rows = points.rows(found, self._catalogue)
        stored = lines.height - rejects.height
        return Batch(rows, rejects, lines.height, block.bytes_read, stored, source, self._rounds.count)


# the rows under one header (columns line, text) as points, and those that are rejects (line, text, reason)
Section = Callable[[pl.DataFrame, str, Table], tuple[list[Points], pl.DataFrame]]


def read(
    stream: BinaryIO, clock: Clock, marked: Callable[[pl.DataFrame], pl.DataFrame], section: Section
) -> Iterator[Batch]:
    """The tables of a file; a record is a row, stored or a reject.

    marked   makes lines (columns line, text) into those that Table.batch takes
    """
    table = Table(clock)
    for block in blocks.blocks(stream):
        if block.overlong is not None:
            yield points.overlong(block)
        else:
            yield table.batch(block, marked(blocks.lines(block)), section)


def points_of(name: str, labels: dict[str, str], rows: pl.DataFrame, value: pl.Series) -> list[Points]:
    """The rows that have a value as samples of one series; none where no row has.

    rows    columns line and at
    value   Float64, of each row; null: it gives no sample
    """
    kept = rows.filter(value.is_not_null())
    return [Points(name, labels, kept["line"], kept["at"], value.drop_nulls())] if kept.height else []

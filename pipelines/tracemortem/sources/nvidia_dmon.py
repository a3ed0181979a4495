"""`nvidia-smi dmon` and `pmon`, left running -> series of each GPU, and of each process on it."""

from collections.abc import Iterator, Mapping
from typing import BinaryIO

import polars as pl

from tracemortem.sources import headed, points
from tracemortem.sources.batch import Batch
from tracemortem.sources.clock import Clock
from tracemortem.sources.headed import Table, points_of
from tracemortem.sources.points import Points

HEADER = r"^\s*#\s*(?:Date\s+)?(?:Time\s+)?gpu\s"
_STAMP = "%Y%m%d %H:%M:%S"
_STAMPED = ("date", "time")
_MOST = 128  # columns
_GPU, _PROCESS = ("gpu",), ("gpu", "pid", "type", "command")
# column -> the property of --query-gpu that is the same; what is not here is kept under its own name
_PROPERTIES: Mapping[str, str] = {
    "pwr": "power.draw",
    "gtemp": "temperature.gpu",
    "temp": "temperature.gpu",  # of drivers that knew no memory temperature
    "mtemp": "temperature.memory",
    "sm": "utilization.gpu",
    "mem": "utilization.memory",
    "mclk": "clocks.mem",
    "pclk": "clocks.sm",
    "fb": "memory.used",
}


def read(stream: BinaryIO, clock: Clock) -> Iterator[Batch]:
    """The rows as series: of dmon nvidia_smi.<property>, of pmon nvidia_smi.pmon.<column>; a row is a record.

    clock   its zone is that of Date and Time (option -o DT); without them it tells the times of the ticks,
            and a tick ends where a GPU, or a process on it, comes again

    `-` gives no sample, and a row in which no number stands (no process there, or none that was measured) is
    a reject. Headers, which come again, and the lines of units below them are no records.
    """
    return headed.read(stream, clock, _marked, _section)


def _marked(lines: pl.DataFrame) -> pl.DataFrame:
    lines = lines.with_columns(pl.col("text").str.strip_chars()).filter(pl.col("text") != "")
    is_header = pl.col("text").str.contains(HEADER)
    return lines.with_columns(
        header=pl.when(is_header).then(pl.col("text").str.strip_chars_start("# ")),
        is_record=~pl.col("text").str.starts_with("#"),
    )


def _section(lines: pl.DataFrame, header: str, table: Table) -> tuple[list[Points], pl.DataFrame]:
    """The rows under one header as points, and those that are rejects (columns line, text, reason)."""
    names = header.lower().split()
    if not 0 < len(names) <= _MOST or len(set(names)) < len(names):
        why = f"the header above names {len(names)} columns" if names else "no header above it"
        return [], lines.with_columns(reason=pl.lit(why))
    # a command, which stands last, may hold blanks
    shapes = [r"(\S.*)" if name == "command" and name == names[-1] else r"(\S+)" for name in names]
    # a header may name a column as one here is named: none there holds a blank
    cells = pl.col("text").str.extract_groups("^" + r"\s+".join(shapes) + "$")
    cells = cells.struct.rename_fields([_cell(name) for name in names])
    rows = lines.with_columns(cells=cells).unnest("cells")
    is_row = pl.col(_cell("gpu")).str.contains(r"^[0-9]+$").fill_null(value=False)
    ragged = rows.filter(~is_row).with_columns(reason=pl.lit(f"not the {len(names)} columns of the header"))
    is_process = "pid" in names
    owners = [name for name in (_PROCESS if is_process else _GPU) if name in names]
    rows = _placed(rows.filter(is_row), names, owners, table)
    figures = [name for name in names if name not in {*owners, *_STAMPED}]
    untimed, rows = rows.filter(pl.col("at").is_null()), rows.filter(pl.col("at").is_not_null())
    found: list[Points] = []
    for of_owner in rows.partition_by([_cell(name) for name in owners], maintain_order=True):
        labels = {name: owner for name in owners if (owner := of_owner[_cell(name)][0]) != "-"}
        for name in figures:
            value = of_owner[_cell(name)].cast(pl.Float64, strict=False)
            series = f"nvidia_smi.pmon.{name}" if is_process else _series(name)
            found += points_of(series, labels, of_owner, value)
    empty = points.without_a_number(rows, found)
    refused = pl.concat([frame.select("line", "text", "reason") for frame in (ragged, untimed, empty)])
    return found, refused.sort("line")


def _cell(name: str) -> str:
    return f"cell {name}"


def _series(column: str) -> str:
    return f"nvidia_smi.{_PROPERTIES.get(column, f'dmon.{column}')}"


def _placed(rows: pl.DataFrame, names: list[str], owners: list[str], table: Table) -> pl.DataFrame:
    """The rows with the columns at and reason (why there is none)."""
    if set(_STAMPED) <= set(names):
        stamp = pl.concat_str(*(_cell(name) for name in _STAMPED), separator=" ")
        why = pl.format("the date and time are no local time: {}", stamp.str.slice(0, 40))
        return rows.with_columns(at=table.clock.local(stamp, _STAMP), reason=why)
    table.is_counted |= rows.height > 0
    return table.ticked(
        rows, rows.select(pl.concat_str(*(_cell(name) for name in owners), separator="\x1f")).to_series()
    )

"""`nvidia-smi dmon` and `pmon`, left running -> series of each GPU, and of each process on it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

import polars as pl

from tracemortem.sources import blocks, points
from tracemortem.sources.batch import REJECTS, Batch, rejected
from tracemortem.sources.catalogue import Catalogue
from tracemortem.sources.clock import Clock
from tracemortem.sources.points import Points
from tracemortem.sources.rounds import Rounds

HEADER = r"^\s*#\s*(?:Date\s+)?(?:Time\s+)?gpu\s"
_STAMP = "%Y%m%d %H:%M:%S"
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


@dataclass
class _State:
    """What is known of the file when a block begins."""

    clock: Clock
    catalogue: Catalogue = field(default_factory=Catalogue)
    rounds: Rounds = field(default_factory=Rounds)
    header: str = ""
    owners: dict[str, int] = field(default_factory=dict)
    is_counted: bool = False


def read(stream: BinaryIO, clock: Clock) -> Iterator[Batch]:
    """The rows as series: of dmon nvidia_smi.<property>, of pmon nvidia_smi.pmon.<column>; a row is a record.

    clock   its zone is that of Date and Time (option -o DT); without them it tells the times of the ticks,
            and a tick ends where a GPU, or a process on it, comes again

    `-` gives no sample. Headers, which come again, and the lines of units below them are no records.
    """
    state = _State(clock)
    for block in blocks.blocks(stream):
        if block.overlong is not None:
            yield points.overlong(block)
        else:
            yield _batch(block, state)


def _batch(block: blocks.Block, state: _State) -> Batch:
    text = pl.col("text").str.strip_chars()
    lines = blocks.lines(block).with_columns(text).filter(pl.col("text") != "")
    lines = lines.with_columns(
        header=pl.when(pl.col("text").str.contains(HEADER))
        .then(pl.col("text").str.strip_chars_start("# "))
        .forward_fill()
        .fill_null(state.header)
    )
    if lines.height:
        state.header = lines["header"][-1]
    lines = lines.filter(~pl.col("text").str.starts_with("#"))
    lines = lines.with_columns(change=pl.col("header").rle_id())
    found: list[Points] = []
    refused = [pl.DataFrame(schema=dict(REJECTS))]
    # the same header comes again every few rows: only a change begins anew
    for section in lines.partition_by("change", maintain_order=True):
        more, wrong = _section(section.select("line", "text"), section["header"][0].split(), state)
        found += more
        refused.append(rejected(wrong))
    rejects = pl.concat(refused)
    source = state.clock.source if state.is_counted else ""
    rows = points.rows(found, state.catalogue)
    return Batch(rows, rejects, lines.height, block.bytes_read, lines.height - rejects.height, source)


def _section(lines: pl.DataFrame, columns: list[str], state: _State) -> tuple[list[Points], pl.DataFrame]:
    """The rows under one header as points, and those that are rejects (columns line, text, reason)."""
    names = [column.lower() for column in columns]
    if not 0 < len(names) <= _MOST or len(set(names)) < len(names):
        why = f"the header above names {len(names)} columns" if names else "no header above it"
        return [], lines.with_columns(reason=pl.lit(why))
    # a command, which stands last, may hold blanks
    shapes = [r"(\S.*)" if name == "command" and name == names[-1] else r"(\S+)" for name in names]
    cells = pl.col("text").str.extract_groups("^" + r"\s+".join(shapes) + "$").struct.rename_fields(names)
    rows = lines.with_columns(cells=cells).unnest("cells")
    is_row = pl.col("gpu").str.contains(r"^[0-9]+$").fill_null(value=False)
    ragged = rows.filter(~is_row).with_columns(reason=pl.lit(f"not the {len(names)} columns of the header"))
    is_process = "pid" in names
    owners = [name for name in (_PROCESS if is_process else _GPU) if name in names]
    rows = _placed(rows.filter(is_row), names, owners, state)
    untimed, rows = rows.filter(pl.col("at").is_null()), rows.filter(pl.col("at").is_not_null())
    found: list[Points] = []
    for of_owner in rows.partition_by(owners, maintain_order=True):
        labels = {name: of_owner[name][0] for name in owners if of_owner[name][0] != "-"}
        for name in names:
            if name not in {*owners, "date", "time"}:
                value = of_owner[name].cast(pl.Float64, strict=False)
                kept = of_owner.filter(value.is_not_null())
                series = f"nvidia_smi.pmon.{name}" if is_process else _series(name)
                found += [Points(series, labels, kept["line"], kept["at"], value.drop_nulls())] * bool(
                    kept.height
                )
    shown = ("line", "text", "reason")
    return found, pl.concat([ragged.select(shown), untimed.select(shown)]).sort("line")


def _series(column: str) -> str:
    return f"nvidia_smi.{_PROPERTIES.get(column, f'dmon.{column}')}"


def _placed(rows: pl.DataFrame, names: list[str], owners: list[str], state: _State) -> pl.DataFrame:
    """The rows with the columns at and reason (why there is none)."""
    if {"date", "time"} <= set(names):
        stamp = pl.concat_str("date", "time", separator=" ")
        why = pl.format("the date and time are no local time: {}", stamp.str.slice(0, 40))
        return rows.with_columns(at=state.clock.local(stamp, _STAMP), reason=why)
    state.is_counted = state.is_counted or rows.height > 0
    keys = rows.select(pl.concat_str(owners, separator="\x1f")).to_series()
    for key in keys.unique(maintain_order=True):
        state.owners.setdefault(key, len(state.owners))
    rows = rows.with_columns(
        round=state.rounds.number(keys.replace_strict(state.owners, return_dtype=pl.Int64))
    )
    return rows.with_columns(
        at=state.clock.at(pl.col("round")), reason=state.clock.lacking(pl.col("round"), "tick")
    )

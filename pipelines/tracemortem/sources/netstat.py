"""Snapshots of `netstat -s`, one after another -> counters of the host."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

import polars as pl

from tracemortem.sources import blocks, points
from tracemortem.sources.batch import Batch, rejected
from tracemortem.sources.catalogue import Catalogue
from tracemortem.sources.clock import Clock
from tracemortem.sources.points import Points
from tracemortem.sources.rounds import Rounds

BEGINS = r"^(?:Ip|Tcp):\s*$"
# what netstat prints -> the name that node_exporter gives the same counter; but not octets, which it gives
# by device as well. "retransmited" is how netstat spelled it for years.
_COUNTERS: Mapping[str, str] = {
    r"^\s+(\d+) segments sent out$": "node_netstat_Tcp_OutSegs",
    r"^\s+(\d+) segments? retransmit(?:t?ed)$": "node_netstat_Tcp_RetransSegs",
    r"^\s+(\d+) segments received$": "node_netstat_Tcp_InSegs",
    r"^\s+InOctets: (\d+)$": "netstat_in_octets",
    r"^\s+OutOctets: (\d+)$": "netstat_out_octets",
    r"^\s+TCPTimeouts: (\d+)$": "node_netstat_TcpExt_TCPTimeouts",
    r"^\s+TCPLostRetransmit: (\d+)$": "node_netstat_TcpExt_TCPLostRetransmit",
}


@dataclass
class _State:
    catalogue: Catalogue = field(default_factory=Catalogue)
    rounds: Rounds = field(default_factory=Rounds)


def read(stream: BinaryIO, clock: Clock) -> Iterator[Batch]:
    """The counters of TCP as series; a line of one of them is a record, the rest says nothing of the network.

    clock   the times of the snapshots: they carry none, and one ends where a counter comes again
    """
    state = _State()
    for block in blocks.blocks(stream):
        if block.overlong is not None:
            yield points.overlong(block)
            continue
        text = pl.col("text")
        value = pl.coalesce([text.str.extract(pattern) for pattern in _COUNTERS])
        which = pl.coalesce(
            [
                pl.when(text.str.contains(pattern)).then(pl.lit(number))
                for number, pattern in enumerate(_COUNTERS)
            ]
        )
        lines = (
            blocks.lines(block)
            .with_columns(text.str.strip_chars_end())
            .with_columns(value=value, which=which)
        )
        lines = lines.filter(pl.col("which").is_not_null()).with_columns(pl.col("value").cast(pl.Float64))
        yield _batch(lines, block.bytes_read, clock, state)


def _batch(lines: pl.DataFrame, size: int, clock: Clock, state: _State) -> Batch:
    lines = lines.with_columns(state.rounds.number(lines["which"]))
    lines = lines.with_columns(
        at=clock.at(pl.col("round")), reason=clock.lacking(pl.col("round"), "snapshot")
    )
    kept = lines.filter(pl.col("at").is_not_null())
    found = [
        Points(name, {}, of["line"], of["at"], of["value"])
        for number, name in enumerate(_COUNTERS.values())
        if (of := kept.filter(pl.col("which") == number)).height
    ]
    rejects = rejected(lines.filter(pl.col("at").is_null()))
    source = clock.source if lines.height else ""
    rows, rounds = points.rows(found, state.catalogue), state.rounds.count
    return Batch(rows, rejects, lines.height, size, kept.height, source, rounds)

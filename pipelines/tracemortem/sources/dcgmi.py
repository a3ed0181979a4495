"""`dcgmi dmon`, left running -> series of each GPU; it prints no times, so they have to be told."""

import itertools
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

HEADER = r"^#\s*Entity\b"
# the line of units, which has as many cells as fit, and what is said at the end
_NO_RECORD = r"^(?:I[Dd]\b|#|dmon was stopped)"
_ENTITY = r"^(?:GPU|GPU-I|GPU-CI|Switch|CPU|Core|Link|CX)\b"
# short name -> field; what is not here is kept under its short name
_FIELDS: Mapping[str, str] = {
    "GPUTL": "DCGM_FI_DEV_GPU_UTIL",
    "MCUTL": "DCGM_FI_DEV_MEM_COPY_UTIL",
    "POWER": "DCGM_FI_DEV_POWER_USAGE",
    "TOTEC": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "TMPTR": "DCGM_FI_DEV_GPU_TEMP",
    "MMTMP": "DCGM_FI_DEV_MEMORY_TEMP",
    "FBUSD": "DCGM_FI_DEV_FB_USED",
    "FBFRE": "DCGM_FI_DEV_FB_FREE",
    "SMCLK": "DCGM_FI_DEV_SM_CLOCK",
    "MMCLK": "DCGM_FI_DEV_MEM_CLOCK",
    "GRACT": "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "SMACT": "DCGM_FI_PROF_SM_ACTIVE",
    "TENSO": "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    "DRAMA": "DCGM_FI_PROF_DRAM_ACTIVE",
    "PCITX": "DCGM_FI_PROF_PCIE_TX_BYTES",
    "PCIRX": "DCGM_FI_PROF_PCIE_RX_BYTES",
    "NVLTX": "DCGM_FI_PROF_NVLINK_TX_BYTES",
    "NVLRX": "DCGM_FI_PROF_NVLINK_RX_BYTES",
}


@dataclass
class _State:
    clock: Clock
    catalogue: Catalogue = field(default_factory=Catalogue)
    rounds: Rounds = field(default_factory=Rounds)
    columns: list[str] = field(default_factory=list)
    entities: dict[str, int] = field(default_factory=dict)


def read(stream: BinaryIO, clock: Clock) -> Iterator[Batch]:
    """The rows as series; a row (an entity at a tick) is a record. N/A gives no sample.

    clock   the times of the ticks; a tick ends where an entity comes again

    Headers, which come again every few rows, the line of units below them and the last words are no records.
    """
    state = _State(clock)
    for block in blocks.blocks(stream):
        if block.overlong is not None:
            rows = points.rows([], state.catalogue)
            yield Batch(rows, blocks.overlong(block), 1, block.bytes_read, 0)
        else:
            yield _batch(block, state)


def _batch(block: blocks.Block, state: _State) -> Batch:
    text = pl.col("text").str.strip_chars()
    lines = blocks.lines(block).with_columns(text).filter(pl.col("text") != "")
    headers = lines.filter(pl.col("text").str.contains(HEADER))
    found: list[Points] = []
    rejects = pl.DataFrame(schema=dict(REJECTS))
    records = 0
    begins = [0, *headers["line"], 2**63]
    for begin, end in itertools.pairwise(begins):
        section = lines.filter(pl.col("line").is_between(begin, end, closed="left"))
        if begin and section.height:
            state.columns = section["text"][0].lstrip("# ").split()[1:]
        section = section.filter(~pl.col("text").str.contains(_NO_RECORD))
        if section.height:
            more, refused = _section(section, state)
            found += more
            rejects.extend(rejected(refused))
            records += section.height
    rows = points.rows(found, state.catalogue)
    source = state.clock.source if records else ""
    return Batch(rows, rejects, records, block.bytes_read, records - rejects.height, source)


def _section(lines: pl.DataFrame, state: _State) -> tuple[list[Points], pl.DataFrame]:
    """The rows under one header as points, and those that are rejects (columns line, text, reason)."""
    width = len(state.columns)
    tokens = pl.col("text").str.replace_all(r"\s+", " ").str.split(" ")
    rows = lines.with_columns(tokens=tokens).with_columns(
        entity=pl.col("tokens").list.head(pl.col("tokens").list.len().cast(pl.Int64) - width).list.join(" "),
        cells=pl.col("tokens").list.tail(width),
    )
    is_row = pl.col("entity").str.contains(_ENTITY) & (pl.col("tokens").list.len() >= width + 2)
    ragged = rows.filter(~is_row).with_columns(reason=pl.lit(f"no entity and {width} values"))
    rows = rows.filter(is_row)
    for entity in rows["entity"].unique(maintain_order=True):
        state.entities.setdefault(entity, len(state.entities))
    rows = rows.with_columns(code=pl.col("entity").replace_strict(state.entities, return_dtype=pl.Int64))
    rows = rows.with_columns(round=state.rounds.number(rows["code"]))
    rows = rows.with_columns(
        at=state.clock.at(pl.col("round")), reason=state.clock.lacking(pl.col("round"), "tick")
    )
    found: list[Points] = []
    for of_entity in rows.filter(pl.col("at").is_not_null()).partition_by("code", maintain_order=True):
        labels = _labels(of_entity["entity"][0])
        for place, column in enumerate(state.columns):
            value = of_entity["cells"].list.get(place).cast(pl.Float64, strict=False)
            kept = of_entity.filter(value.is_not_null())
            name = _FIELDS.get(column, f"dcgmi.{column}")
            found += [Points(name, labels, kept["line"], kept["at"], value.drop_nulls())] * bool(kept.height)
    shown = ("line", "text", "reason")
    untimed = rows.filter(pl.col("at").is_null())
    return found, pl.concat([ragged.select(shown), untimed.select(shown)]).sort("line")


def _labels(entity: str) -> dict[str, str]:
    kind, _, number = entity.partition(" ")
    return {"gpu": number} if kind == "GPU" and number.isdecimal() else {"gpu": entity}

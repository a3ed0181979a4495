"""`dcgmi dmon`, left running -> series of each GPU; it prints no times, so they have to be told."""

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
_MOST = 128  # fields that dcgmi watches at once
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
    header: str = ""
    entities: dict[str, int] = field(default_factory=dict)


def read(stream: BinaryIO, clock: Clock) -> Iterator[Batch]:
    """The rows as series; a row (an entity at a tick) is a record. N/A gives no sample.

    clock   the times of the ticks; a tick ends where an entity comes again

    Headers, which come again every few rows, the line of units below them and the last words are no records.
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
    lines = lines.with_columns(is_header=pl.col("text").str.contains(HEADER)).with_columns(
        header=pl.when("is_header").then("text").forward_fill().fill_null(state.header)
    )
    if lines.height:
        state.header = lines["header"][-1]
    lines = lines.filter(~pl.col("text").str.contains(_NO_RECORD)).with_columns(
        change=pl.col("header").rle_id()
    )
    found: list[Points] = []
    refused = [pl.DataFrame(schema=dict(REJECTS))]
    # the same header comes again every few rows: only a change begins anew
    for section in lines.partition_by("change", maintain_order=True):
        columns = section["header"][0].lstrip("# ").split()[1:]
        more, wrong = _section(section.select("line", "text"), columns, state)
        found += more
        refused.append(rejected(wrong))
    rejects = pl.concat(refused)
    rows = points.rows(found, state.catalogue)
    source = state.clock.source if lines.height else ""
    return Batch(rows, rejects, lines.height, block.bytes_read, lines.height - rejects.height, source)


def _section(lines: pl.DataFrame, columns: list[str], state: _State) -> tuple[list[Points], pl.DataFrame]:
    """The rows under one header as points, and those that are rejects (columns line, text, reason)."""
    width = len(columns)
    if not 0 < width <= _MOST:
        why = pl.lit(f"the header above names {width} fields")
        return [], lines.with_columns(reason=why)
    groups = "".join(rf"\s+(?P<c{place}>\S+)" for place in range(width))
    rows = lines.with_columns(
        cells=pl.col("text").str.extract_groups(rf"^(?P<entity>\S+ \d+(?: [A-Z]+ \d+)?){groups}$")
    )
    rows = rows.unnest("cells")
    is_row = pl.col("entity").str.contains(_ENTITY).fill_null(value=False)
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
        for place, column in enumerate(columns):
            value = of_entity[f"c{place}"].cast(pl.Float64, strict=False)
            kept = of_entity.filter(value.is_not_null())
            name = _FIELDS.get(column, f"dcgmi.{column}")
            found += [Points(name, labels, kept["line"], kept["at"], value.drop_nulls())] * bool(kept.height)
    is_timed = pl.col("at").is_not_null()
    untimed, empty = rows.filter(~is_timed), points.without_a_number(rows.filter(is_timed), found)
    refused = pl.concat([frame.select("line", "text", "reason") for frame in (ragged, untimed, empty)])
    return found, refused.sort("line")


def _labels(entity: str) -> dict[str, str]:
    kind, _, number = entity.partition(" ")
    return {"gpu": number} if kind == "GPU" and number.isdecimal() else {"gpu": entity}

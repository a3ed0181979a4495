"""`dcgmi dmon`, left running -> series of each GPU; it prints no times, so they have to be told."""

from collections.abc import Iterator, Mapping
from typing import BinaryIO

import polars as pl

from tracemortem.sources import headed, points
from tracemortem.sources.batch import Batch
from tracemortem.sources.clock import Clock
from tracemortem.sources.headed import Table, points_of
from tracemortem.sources.points import Points

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


def read(stream: BinaryIO, clock: Clock) -> Iterator[Batch]:
    """The rows as series; a row (an entity at a tick) is a record. N/A gives no sample.

    clock   the times of the ticks; a tick ends where an entity comes again

    Headers, which come again every few rows, the line of units below them and the last words are no records.
    """
    return headed.read(stream, clock, _marked, _section)


def _marked(lines: pl.DataFrame) -> pl.DataFrame:
    lines = lines.with_columns(pl.col("text").str.strip_chars()).filter(pl.col("text") != "")
    return lines.with_columns(
        header=pl.when(pl.col("text").str.contains(HEADER)).then("text"),
        is_record=~pl.col("text").str.contains(_NO_RECORD),
    )


def _section(lines: pl.DataFrame, header: str, table: Table) -> tuple[list[Points], pl.DataFrame]:
    """The rows under one header as points, and those that are rejects (columns line, text, reason)."""
    table.is_counted = True
    columns = header.lstrip("# ").split()[1:]
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
    rows = table.ticked(rows, rows["entity"])
    found: list[Points] = []
    for of_entity in rows.filter(pl.col("at").is_not_null()).partition_by("entity", maintain_order=True):
        labels = _labels(of_entity["entity"][0])
        for place, column in enumerate(columns):
            value = of_entity[f"c{place}"].cast(pl.Float64, strict=False)
            found += points_of(_FIELDS.get(column, f"dcgmi.{column}"), labels, of_entity, value)
    is_timed = pl.col("at").is_not_null()
    untimed, empty = rows.filter(~is_timed), points.without_a_number(rows.filter(is_timed), found)
    refused = pl.concat([frame.select("line", "text", "reason") for frame in (ragged, untimed, empty)])
    return found, refused.sort("line")


def _labels(entity: str) -> dict[str, str]:
    kind, _, number = entity.partition(" ")
    return {"gpu": number} if kind == "GPU" and number.isdecimal() else {"gpu": entity}

"""`nvidia-smi --query-gpu=... --format=csv`, left running or asked once -> series of each GPU."""

from collections.abc import Iterator
from typing import BinaryIO

import polars as pl

from tracemortem.sources import headed, points
from tracemortem.sources.batch import Batch
from tracemortem.sources.clock import Clock
from tracemortem.sources.headed import Table, points_of
from tracemortem.sources.points import Points

# a header is told by any of these; a row of values holds none of them
HEADER = (
    r"(?:^|, ?)(?:timestamp|index|uuid|gpu_uuid|pci\.bus_id|utilization\.gpu|memory\.used|power\.draw"
    r"|temperature\.gpu|clocks\.(?:current\.)?sm)(?: \[[^\],]*\])?(?:,|$)"
)
# of these at least one makes a file one of nvidia-smi: other tables have a timestamp and an index, too
PROPERTY = (
    r"(?:^|, ?)(?:uuid|gpu_uuid|pstate|gpu_name|driver_version|(?:utilization|memory|power|temperature|clocks"
    r"|pcie?|ecc|fan|mig|encoder|enforced|clocks_event_reasons|clocks_throttle_reasons)\.[a-z._]+)"
    r"(?: \[[^\],]*\])?(?:,|$)"
)
_LABELS = {
    "uuid": "uuid",
    "gpu_uuid": "uuid",
    "index": "gpu",
    "pci.bus_id": "pci_bus_id",
    "gpu_bus_id": "pci_bus_id",
    "name": "modelName",
    "gpu_name": "modelName",
    "hostname": "Hostname",
}
_STAMP = "%Y/%m/%d %H:%M:%S%.f"
_NUMBER = r"^(-?[0-9]+(?:\.[0-9]+)?)(?: [A-Za-z%/]+)?$"
_MASK = r"^0x([0-9a-fA-F]+)$"


def read(stream: BinaryIO, clock: Clock) -> Iterator[Batch]:
    """The rows as series named nvidia_smi.<property>; a row is a record, whatever it holds.

    clock   its zone is that of the timestamps, which carry none; rows without a timestamp get its times

    A header may come again, with other columns too. A cell that holds no number ([N/A], Enabled, a name)
    gives no sample; a mask (0x4) is a number. A row that has not as many cells as the header is a reject.
    """
    return headed.read(stream, clock, _marked, _section)


def _marked(lines: pl.DataFrame) -> pl.DataFrame:
    is_header = pl.col("text").str.contains(HEADER)
    return lines.filter(pl.col("text").str.strip_chars() != "").with_columns(
        header=pl.when(is_header).then("text"), is_record=~is_header
    )


def _section(lines: pl.DataFrame, header: str, table: Table) -> tuple[list[Points], pl.DataFrame]:
    """The rows under one header as points, and those that are rejects (columns line, text, reason)."""
    properties = [cell.strip().split(" [")[0] for cell in header.split(",")]
    width = len(properties)
    cells = lines.with_columns(pl.col("text").str.splitn(",", width + 1).alias("cells")).unnest("cells")
    named = [f"field_{number}" for number in range(width)]
    cells = cells.with_columns(pl.col(named).str.strip_chars())
    is_whole = cells.select(pl.col(named[-1]).is_not_null() & pl.col(f"field_{width}").is_null()).to_series()
    ragged = cells.filter(~is_whole).with_columns(reason=pl.lit(f"not the {width} columns of the header"))
    owners = [place for place, name in enumerate(properties) if name in _LABELS]
    placed = _placed(cells.filter(is_whole), properties, [named[place] for place in owners], table)
    kept = placed.filter(pl.col("at").is_not_null())
    found: list[Points] = []
    for of_gpu in kept.partition_by([named[place] for place in owners]) if owners else [kept]:
        if of_gpu.height:
            own = {_LABELS[properties[place]]: of_gpu[named[place]][0] for place in owners}
            for place, name in enumerate(properties):
                if place not in owners and name != "timestamp":
                    found += _points(f"nvidia_smi.{name}", own, of_gpu, of_gpu[named[place]])
    untimed, empty = placed.filter(pl.col("at").is_null()), points.without_a_number(kept, found)
    refused = pl.concat([frame.select("line", "text", "reason") for frame in (ragged, untimed, empty)])
    return found, refused.sort("line")


def _placed(cells: pl.DataFrame, properties: list[str], owners: list[str], table: Table) -> pl.DataFrame:
    """The rows with the columns at and reason (why there is none)."""
    if "timestamp" in properties:
        stamp = pl.col(f"field_{properties.index('timestamp')}")
        why = pl.format("the timestamp is no local time: {}", stamp.str.slice(0, 40))
        return cells.with_columns(at=table.clock.local(stamp, _STAMP), reason=why)
    # as strings of its own for every row, be there any row or none, any owner or none
    gpus = cells.select(pl.concat_str(["line", *owners], separator="\0", ignore_nulls=True)).to_series()
    gpus = gpus.str.replace(r"^[0-9]+\x00?", "")
    table.is_counted = True
    return table.ticked(cells, gpus)


def _points(name: str, labels: dict[str, str], rows: pl.DataFrame, cells: pl.Series) -> list[Points]:
    """The cells that are numbers."""
    number = cells.str.extract(_NUMBER, 1).cast(pl.Float64, strict=False)
    mask = cells.str.extract(_MASK, 1).str.to_integer(base=16, dtype=pl.UInt64, strict=False)
    value = number.fill_null(mask.cast(pl.Float64))
    return points_of(name, labels, rows, value)

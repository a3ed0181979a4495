"""What must hold of any file whatever: it is refused, or read with every record accounted for."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from fuzz.seeds import Seed

from tracemortem.errors import InputError
from tracemortem.sources.batch import EXCERPT, REJECTS, Batch
from tracemortem.sources.clock import Told
from tracemortem.sources.find import Found, survey
from tracemortem.sources.registry import read

TOLD = Told(datetime(2026, 2, 3, 11, 2, 7, tzinfo=UTC), 15.0)
IN_FRAMES = ("otlp_protobuf", "otlp_framed", "otlp_protobuf_bare")  # numbers of frames stand for lines
SECONDS = 10.0  # for one small file, on a machine that is busy with other work


@dataclass(frozen=True)
class Reference:
    """What is known of undamaged files: how each format is found, and the schema of each raw table."""

    found: Mapping[str, Found]
    schemas: Mapping[str, pl.Schema]


def reference(seeds: list[Seed], folder: Path) -> Reference:
    """Read every seed as it is. raises AssertionError where one is not read whole, as its format."""
    found, schemas = {}, {}
    for number, seed in enumerate(seeds):
        path, beside = folder / f"{number}" / "seed", folder / f"{number}" / "seed.conf"
        path.parent.mkdir()
        path.write_bytes(seed.data)
        if seed.beside:
            beside.write_text(seed.beside)
        (one, *_) = survey([str(path.parent)])
        assert one.format == seed.format, f"{seed.format} is found to be {one.format}"
        for batch in read(one, TOLD):
            assert not batch.rejects.height, f"{seed.format}: {batch.rejects.to_dicts()}"
            schemas |= {table: rows.schema for table, rows in batch.rows.items()}
        found[seed.format] = one
    return Reference(found, schemas)


def held(data: bytes, path: Path, known: Reference, form: str = "") -> str:
    """`read`, `refused` or `empty`, if all holds.

    path     where the file is put
    form     the format whose reader is given the file, whatever it looks like; "": as `survey` finds
    raises   AssertionError where something does not hold; whatever a reader raises that is no InputError
    """
    path.write_bytes(data)
    began = time.process_time()
    try:
        found = replace(known.found[form], path=path) if form else survey([str(path)])[0]
        batches = list(read(found, TOLD))
    except InputError as error:
        return "refused" if all((str(error), error.where, error.why, error.fix)) else "no sentence"
    took = time.process_time() - began
    assert took < SECONDS, f"{took:.1f} s for {len(data)} bytes as {found.format}"
    for batch in batches:
        adds_up(batch, known)
    if not Seed(found.format, data).is_packed:
        assert sum(batch.bytes_read for batch in batches) <= len(data)
        lines = len(data) if found.format in IN_FRAMES else data.count(b"\n") + 1
        for batch in batches:
            assert batch.rejects["line"].is_between(1, lines).all(), batch.rejects.to_dicts()
    return "read" if any(batch.records for batch in batches) else "empty"


def adds_up(batch: Batch, known: Reference) -> None:
    """raises AssertionError where a batch is not what it says, or records got lost."""
    assert batch.records == batch.stored + batch.rejects.height
    assert batch.rejects.schema == pl.Schema(REJECTS)
    assert batch.rejects["reason"].null_count() == 0
    assert (batch.rejects["excerpt"].str.len_chars().fill_null(0) <= EXCERPT).all()
    rows = 0
    for table, frame in batch.rows.items():
        assert frame.schema == known.schemas[table], table
        rows += frame.height if table != "series" else 0  # those only name what samples are of
    assert rows >= batch.stored

"""A sql/ folder of a test's own, beside the declared raw and meta tables of the product."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from tracemortem import folders
from tracemortem.warehouse.build import build
from tracemortem.warehouse.store import Store

REJECT = {"line": pl.UInt64(), "reason": pl.String(), "excerpt": pl.String()}


@pytest.fixture
def sql(tmp_path: Path) -> Callable[..., Path]:
    """Writes files by their path under sql/, and gives the folder."""

    def write(**files: str) -> Path:
        folder = tmp_path / "sql"
        for schema in ("raw", "meta"):
            shutil.copytree(folders.folder("sql") / schema, folder / schema, dirs_exist_ok=True)
        for name, text in files.items():
            path = folder / f"{name.replace('__', '/')}.sql"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return folder

    return write


@pytest.fixture
def store(tmp_path: Path, sql: Callable[..., Path]) -> Iterator[Store]:
    with Store(tmp_path / "out.duckdb", sql=sql(), threads=1) as opened:
        yield opened


@pytest.fixture
def events() -> Callable[..., pl.DataFrame]:
    """Rows of raw.event: one a text, a second apart."""

    def rows(*texts: str) -> pl.DataFrame:
        frame = pl.DataFrame({"text": texts}, schema={"text": pl.String()})
        start = pl.datetime(2026, 2, 3, 11, time_unit="us", time_zone="UTC")
        number = pl.int_range(1, pl.len() + 1)
        return frame.select(
            line=number.cast(pl.UInt64),
            at=start + pl.duration(seconds=number),
            kind=pl.lit("deploy"),
            text="text",
        )

    return rows


@pytest.fixture
def rejects() -> Callable[..., pl.DataFrame]:
    """Rejects: one a reason."""

    def rows(*reasons: str) -> pl.DataFrame:
        return pl.DataFrame([(7, reason, "...") for reason in reasons], schema=REJECT, orient="row")

    return rows


@pytest.fixture
def built(tmp_path: Path, sql: Callable[..., Path]) -> Callable[..., Path]:
    """Builds mart.minute with so many rows and two macros, closes the work file, gives the sql/ folder."""

    def make(rows: int = 3) -> Path:
        folder = sql(
            mart__minute="""\
-- One row per minute.
--
-- minute  UTC    it's the start
-- at      UTC    a word of the grammar
-- n       count  requests

select
    timestamptz '2026-02-03 11:00:00' + range * interval 1 minute as minute,
    timestamptz '2026-02-03 11:00:00' as at,
    range as n
from range($rows)
order by minute
""",
            macro__ratio="-- a over b.\ncreate or replace macro ratio(a, b) as a / nullif(b, 0)\n",
            macro__busy="-- Minutes above a limit.\ncreate or replace macro busy(least) as table\n"
            "select n from mart.minute where n > least\n",
        )
        with Store(tmp_path / "out.duckdb", sql=folder) as store:
            build(store, folder, {"rows": rows})
        return folder

    return make

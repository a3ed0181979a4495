"""The product's own ways into a DuckDB file."""

from pathlib import Path

import duckdb


def load(inputs: Path, database: Path) -> Path:
    """The first step of `tracemortem ingest`: files recognised, typed rows and rejects in raw tables."""
    from tracemortem.settings import Settings
    from tracemortem.steps import load as step

    step.load(Settings((str(inputs),), db=str(database)))
    return database.with_name(f"{database.name}.work")


def ingest(inputs: Path, database: Path) -> Path:
    """The command, whole: also requests joined, minutes built, checks run and the file published."""
    from tracemortem import cli

    code = cli.main(["ingest", str(inputs), "--db", str(database), "--quiet"])
    if code:
        raise SystemExit(code)
    return database


def one(database: Path, query: str) -> tuple[object, ...]:
    """The one row of a query."""
    with duckdb.connect(database, read_only=True) as con:
        row = con.execute(query).fetchone()
    if row is None:
        raise LookupError(query)
    return tuple(row)

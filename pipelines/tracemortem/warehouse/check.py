"""The checks of sql/check: each a SELECT of the rows that should not be."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracemortem.errors import DefinitionError
from tracemortem.warehouse import engine, header, model
from tracemortem.warehouse.engine import Value
from tracemortem.warehouse.store import Store

_COUNT = "rows_that_should_not_be"


@dataclass(frozen=True)
class Checked:
    """What one check found.

    name    file name without fail_ or warn_
    status  ok if there were no rows, else fail or warn, as the file's name begins
    rows    how many there were
    first   the first of them, `column value, ...`; null columns left out; "" if there were none
    about   the header's first paragraph: what such a row is
    limits  its second: what cannot be said where there are such rows
    """

    name: str
    status: str
    rows: int
    first: str
    about: str
    limits: str


def run(store: Store, sql: Path, values: Mapping[str, Value], *, names: str = "*") -> tuple[Checked, ...]:
    """Run every check, in order of file names.

    values   parameter -> value
    names    a pattern that file names must match, without .sql: `fail_*` for those alone that may stop a run
    raises   DefinitionError if a file is called neither fail_* nor warn_*, or does not run. Rows that should
             not be do not raise: the caller decides what a failure stops
    """
    return tuple(_run(store, path, values) for path in sorted((sql / "check").glob(f"{names}.sql")))


def _run(store: Store, path: Path, values: Mapping[str, Value]) -> Checked:
    severity, _, name = path.stem.partition("_")
    if severity not in ("fail", "warn") or not name:
        raise DefinitionError(
            f"{path.name} does not say how bad its rows are",
            where=str(path),
            why="a check's name begins with fail_ or warn_",
            fix="rename it",
        )
    about = header.read(path)
    parameters = model.bound(about, model.select(store.con, about).parameters, values)
    try:
        # order by all: which row is shown first must not depend on threads
        rows = store.frame(
            f"select count(*) over () as {_COUNT}, * from ({about.body}\n) order by all limit 1", parameters
        ).to_dicts()
    except duckdb.Error as error:
        raise DefinitionError(
            f"check {path.stem} does not run",
            where=str(path),
            why=engine.first_line(error),
            fix="mend its SQL",
        ) from error
    limits = " ".join(about.notes)
    if not rows:
        return Checked(name, "ok", 0, "", about.about, limits)
    count = int(rows[0].pop(_COUNT))
    first = ", ".join(f"{column} {value}" for column, value in rows[0].items() if value is not None)
    return Checked(name, severity, count, first, about.about, limits)

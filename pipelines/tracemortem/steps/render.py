"""Step 6: the diagnosis and its rows into the report."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from tracemortem import __version__, folders
from tracemortem.errors import SettingError
from tracemortem.progress import stage
from tracemortem.report.render import write
from tracemortem.report.sections import frames, sections
from tracemortem.settings import Settings
from tracemortem.steps import opened
from tracemortem.steps.diagnosis import kept
from tracemortem.steps.written import written
from tracemortem.warehouse.build import build
from tracemortem.warehouse.store import Store

_METHODS = "methods"  # the one frame that is no table: the SQL itself


def render(settings: Settings) -> str:
    """Write report.json, report.md and report.html; returns the path of the last.

    raises   SettingError if nothing says where the report goes, or it cannot be written there
    """
    if settings.out is None:
        raise SettingError(
            "no report without a folder", where="--out", why="it is missing", fix="add --out DIR"
        )
    sql = folders.folder("sql")
    with opened.store(settings) as store, stage("report"):
        build(store, sql, opened.values(settings), ("report",))
        wanted = frames(sections((folders.folder("reports"),)))
        rows = {name: _frame(store, sql, name) for name in wanted}
        try:
            made = write(
                kept(store),
                rows,
                Path(settings.out),
                product_version=__version__,
                created_at=opened.now(),
                written=written(settings),
            )
        except OSError as error:
            raise SettingError(
                "the report cannot be written",
                where=str(error.filename or settings.out),
                why=error.strerror or str(error),
                fix="make room or give the right to write there, or name another --out",
            ) from error
    return str(made[-1])


def _frame(store: Store, sql: Path, name: str) -> pl.DataFrame:
    if name == _METHODS:
        return methods(sql)
    return store.frame(f"from report.{name}")


def methods(sql: Path) -> pl.DataFrame:
    """Every query from the facts to the evidence: name as evidence cites it, and its text."""
    files: Mapping[str, Path] = {
        f"sql/{path.parent.name}/{path.name}": path
        for stage_name in ("evidence", "mart", "norm")
        for path in sorted((sql / stage_name).glob("*.sql"))
    }
    return pl.DataFrame(
        {"name": list(files), "sql": [path.read_text(encoding="utf-8").strip() for path in files.values()]}
    )

"""A query by hand on a published file: read-only, and shut off from every other file."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb
import polars as pl

from tracemortem.errors import WarehouseError
from tracemortem.warehouse import engine
from tracemortem.warehouse.lake import lake

_WRITES = frozenset(
    {
        duckdb.StatementType.COPY,
        duckdb.StatementType.COPY_DATABASE,
        duckdb.StatementType.EXPORT,
        duckdb.StatementType.ATTACH,
    }
)


class Published:
    """A published file, open for reading: `with Published(path) as asked:`.

    raises   WarehouseError on entering if it cannot be opened
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Self:
        self._con = _connected(self._path, engine.MEMORY_LIMIT)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._con.close()

    def frame(self, sql: str, params: Mapping[str, engine.Value] | None = None) -> pl.DataFrame:
        """The rows of a SELECT, as Store.frame gives them.

        raises   WarehouseError where the file lacks what is asked for: another version wrote it, or no run
                 that looks for incidents
        """
        try:
            return engine.hand_out(self._con.sql(sql, params=dict(params) if params else None))
        except duckdb.CatalogException as error:
            raise WarehouseError(
                f"{self._path.name} lacks what is needed",
                where=str(self._path),
                why=engine.first_line(error),
                fix="run `tracemortem postmortem` on the inputs with this version",
            ) from error


def sql(path: Path, query: str, *, memory_limit: str = engine.MEMORY_LIMIT) -> pl.DataFrame:
    """The rows of one query.

    path     a published file; it is opened read-only, with no access to other files but the facts of a
             warehouse, which are only read, nor to the network or settings
    query    what DuckDB understands; a word DuckDB cannot hand to Polars comes as text
    raises   WarehouseError if the file cannot be opened or DuckDB refuses the query
    """
    with _connected(path, memory_limit) as con:
        try:
            _only_read(con, query)
            relation = con.sql(query)
            return pl.DataFrame() if relation is None else engine.hand_out(relation)
        except duckdb.PermissionException as error:
            raise WarehouseError(
                "the query reaches outside its file",
                where=query,
                why=engine.first_line(error),
                fix="ask only for what stands in the file; copy what else you need with DuckDB's own shell",
            ) from error
        except duckdb.Error as error:
            raise WarehouseError(
                "the query does not run",
                where=query,
                why=engine.first_line(error),
                fix="mend it; `select * from duckdb_columns()` lists the columns and what they mean",
            ) from error


def _only_read(con: duckdb.DuckDBPyConnection, query: str) -> None:
    """Raise duckdb.PermissionException where the query would write: a folder that is open is open to COPY."""
    for statement in con.extract_statements(query):
        if statement.type in _WRITES:
            raise duckdb.PermissionException(
                f"{statement.type.name} may write files; here they are only read"
            )


def _connected(path: Path, memory_limit: str) -> duckdb.DuckDBPyConnection:
    if not path.is_file():
        raise WarehouseError(
            f"there is no {path.name}",
            where=str(path),
            why="only a file that was published can be asked",
            fix="name the DuckDB file that a run wrote",
        )
    con = engine.connect(path.resolve(), read_only=True, memory_limit=memory_limit)
    facts = lake(path)
    if facts.is_dir():
        con.execute(f"set allowed_directories = [{engine.literal(f'{facts}/')}]")
    con.execute("set enable_external_access = false")
    con.execute("set lock_configuration = true")
    return con

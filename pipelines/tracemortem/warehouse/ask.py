"""A query by hand on a published file: read-only, and shut off from every other file."""

from pathlib import Path

import duckdb
import polars as pl

from tracemortem.errors import WarehouseError
from tracemortem.warehouse import engine


def sql(path: Path, query: str, *, memory_limit: str = engine.MEMORY_LIMIT) -> pl.DataFrame:
    """The rows of one query.

    path     a published file; it is opened read-only, with no access to other files, the network or settings
    query    what DuckDB understands; a word DuckDB cannot hand to Polars comes as text
    raises   WarehouseError if the file cannot be opened or DuckDB refuses the query
    """
    if not path.is_file():
        raise WarehouseError(
            f"there is no {path.name}",
            where=str(path),
            why="only a file that was published can be asked",
            fix="name the DuckDB file that a run wrote",
        )
    with engine.connect(path.resolve(), read_only=True, memory_limit=memory_limit) as con:
        con.execute("set enable_external_access = false")
        con.execute("set lock_configuration = true")
        try:
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

"""The tables that are filled and not built, raw and meta: declared one a file in sql/raw and sql/meta."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracemortem.errors import DefinitionError, WarehouseError
from tracemortem.warehouse import engine, header

SCHEMAS = ("raw", "meta")


@dataclass(frozen=True)
class Table:
    """A declared table. types: column -> DuckDB type, in order."""

    name: str
    header: header.Header
    types: Mapping[str, str]


def declared(sql: Path) -> dict[str, Table]:
    """Every table of sql/raw and sql/meta by `schema.table`, as DuckDB itself understands the declaration.

    raises   DefinitionError if a file does not make the table its path names, or documents other columns
    """
    found: dict[Path, header.Header] = {}
    with engine.connect(None) as con:
        for schema in SCHEMAS:
            con.execute(f"create schema {schema}")
            for path in sorted((sql / schema).glob("*.sql")):
                about = header.read_table(path)
                try:
                    con.execute(about.body)
                except duckdb.Error as error:
                    raise _uncreated(about, path, engine.first_line(error)) from error
                found[path] = about
        types = _types(con)
    for path, about in found.items():
        if about.name not in types:
            raise _uncreated(about, path, "it creates another")
        header.compare(about, list(types[about.name]))
    return {about.name: Table(about.name, about, types[about.name]) for about in found.values()}


def _uncreated(about: header.Header, path: Path, why: str) -> DefinitionError:
    return DefinitionError(
        f"{path.name} does not create {about.name}",
        where=str(path),
        why=why,
        fix=f"write `create table if not exists {about.name} (...)`",
    )


def create(con: duckdb.DuckDBPyConnection, tables: Mapping[str, Table], path: Path) -> None:
    """Create the tables that are missing, with their comments; those that exist must be as declared.

    path     the file behind con, for the error
    raises   WarehouseError if the file was made by a version with other columns
    """
    con.begin()  # all at once: each statement by itself would wait for the disk
    existing = _types(con)
    for name, table in tables.items():
        if name not in existing:
            con.execute(f"create schema if not exists {name.partition('.')[0]}")
            con.execute(table.header.body)
            con.execute(header.comments(table.header))
        elif existing[name] != table.types:
            differing = [
                c for c in {**existing[name], **table.types} if existing[name].get(c) != table.types.get(c)
            ]
            raise WarehouseError(
                f"{path.name} was made by another version of the product",
                where=str(path),
                why=f"{name} has other columns: {', '.join(differing) or 'the same in another order'}",
                fix="delete it and ingest the inputs again; what was published stays readable meanwhile",
            )
    con.commit()


def _types(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    rows = con.execute(
        "select schema_name || '.' || table_name, column_name, data_type from duckdb_columns() "
        "where database_name = current_database() and schema_name in ('raw', 'meta') "
        "order by schema_name, table_name, column_index"
    ).fetchall()
    tables: dict[str, dict[str, str]] = {}
    for table, column, kind in rows:
        tables.setdefault(table, {})[column] = kind
    return tables

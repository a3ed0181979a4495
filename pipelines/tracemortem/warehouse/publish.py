"""The work file's tables into the file that readers open: whole, compact, replaced in one step."""

import os
from datetime import datetime
from pathlib import Path

import duckdb

from tracemortem.errors import WarehouseError
from tracemortem.warehouse import engine, macro
from tracemortem.warehouse.engine import identifier, literal

SCHEMA_VERSION = 1  # of the published names; goes up when one is renamed or dropped


def publish(
    work: Path,
    published: Path,
    *,
    sql: Path,
    published_at: datetime,
    product_version: str,
    memory_limit: str = engine.MEMORY_LIMIT,
    is_self_contained: bool = False,
) -> tuple[str, ...]:
    """Copy everything but the schema `raw` into a fresh file and put it in the place of the published one.

    work      the work file, closed
    sql       the folder whose macro/ is stored in the file
    is_self_contained  the facts of a warehouse are copied into the file, not read where they lie
    returns   warnings: what somebody's writing to the published file left behind and was moved aside
    raises    WarehouseError if the work file is in use or the disk gives out; the old file then stays

    Whoever has the old file open goes on reading it. The new one is read-only for everybody but root, and
    DuckDB 1.4 and newer can open it.
    """
    _clear_up_after_the_dead(published)
    fresh = published.with_name(f".{published.name}.{os.getpid()}.tmp")
    try:
        published.parent.mkdir(parents=True, exist_ok=True)
        made = (published_at, product_version, SCHEMA_VERSION)
        _copy(work, fresh, sql, memory_limit, made, is_self_contained=is_self_contained)
        _to_disk(fresh)
        fresh.chmod(0o444)
        warnings = _move_stale_wal(published)
        fresh.replace(published)
        _to_disk(published.parent)
    except (duckdb.Error, OSError) as error:
        raise WarehouseError(
            f"{published.name} cannot be published",
            where=str(published),
            why=engine.first_line(error),
            fix="make room or give the right to write there; the file published before is untouched",
        ) from error
    finally:
        _remove(fresh)
    return warnings


def _copy(
    work: Path,
    fresh: Path,
    sql: Path,
    memory_limit: str,
    made: tuple[datetime, str, int],
    *,
    is_self_contained: bool,
) -> None:
    macros = macro.read(sql)
    with engine.connect(None, memory_limit=memory_limit) as con:
        try:
            con.execute(f"attach {literal(str(work))} as work (read_only)")
        except duckdb.Error as error:
            raise engine.unusable(error, work) from error
        con.execute(
            f"attach {literal(str(fresh))} as fresh (storage_version {literal(engine.STORAGE_VERSION)})"
        )
        con.execute(f"set temp_directory = {literal(str(fresh.with_suffix('.spill')))}")
        con.execute("use fresh")
        for (schema,) in con.execute(
            "select schema_name from duckdb_schemas() "
            "where database_name = 'work' and not internal and schema_name <> 'raw' order by all"
        ).fetchall():
            con.execute(f"create schema if not exists {identifier(schema)}")
        for schema, table in con.execute(
            "select schema_name, table_name from duckdb_tables() "
            "where database_name = 'work' and schema_name <> 'raw' order by all"
        ).fetchall():
            name = identifier(schema, table)
            con.execute(f"create table {name} as from work.{name}")
        for schema, view, definition in con.execute(
            "select schema_name, view_name, sql from duckdb_views() "
            "where database_name = 'work' and not internal order by view_oid"
        ).fetchall():
            name = identifier(schema, view)
            con.execute(f"create table {name} as from work.{name}" if is_self_contained else definition)
        con.begin()  # else each of some hundred comments would wait for the disk
        _copy_comments(con, of_view="table" if is_self_contained else "view")
        macro.install(con, macros)
        con.execute("insert into meta.published values ($1, $2, $3)", made)
        con.commit()
        con.execute("use memory")
        con.execute("detach fresh")  # checkpoints: no WAL is left beside the file


def _copy_comments(con: duckdb.DuckDBPyConnection, *, of_view: str) -> None:
    """The comments of work's tables, views and columns, for the same in the current database.

    of_view  what a view has become there
    """
    found = con.execute(
        """
        select 'table', [schema_name, table_name], comment from duckdb_tables()
        where database_name = 'work' and schema_name <> 'raw' and comment is not null
        union all
        select $of_view, [schema_name, view_name], comment from duckdb_views()
        where database_name = 'work' and comment is not null
        union all
        select 'column', [schema_name, table_name, column_name], comment from duckdb_columns()
        where database_name = 'work' and schema_name <> 'raw' and comment is not null
        """,
        {"of_view": of_view},
    ).fetchall()
    for kind, parts, comment in found:
        con.execute(f"comment on {kind} {identifier(*parts)} is {literal(comment)}")


def _move_stale_wal(published: Path) -> tuple[str, ...]:
    """A write-ahead log beside the file would make every opening of its successor fail."""
    wal = published.with_name(published.name + ".wal")
    if not wal.exists():
        return ()
    aside = wal.with_name(wal.name + ".stale")
    wal.replace(aside)
    return (
        f"somebody wrote to {published.name}, which every run replaces; their changes are in {aside.name}",
    )


def _clear_up_after_the_dead(published: Path) -> None:
    """Remove the unfinished files of publishers that were killed; those of the living stay."""
    for left in published.parent.glob(f".{published.name}.*.tmp"):
        pid = left.name.removeprefix(f".{published.name}.").removesuffix(".tmp")
        if pid.isdigit() and (int(pid) == os.getpid() or not Path(f"/proc/{pid}").exists()):
            _remove(left)


def _remove(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.with_name(file.name + ".wal").unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

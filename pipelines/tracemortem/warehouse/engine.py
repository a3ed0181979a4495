"""DuckDB as this project opens it: UTC, nothing downloaded, no Python variable taken for a table."""

import re
from datetime import date, datetime
from pathlib import Path
from typing import TypeAlias

import duckdb
import polars as pl

from tracemortem.errors import WarehouseError

# What exceeds it goes to disk. With some 450 MB of code and of blocks being read, a run stays below 1 GiB.
MEMORY_LIMIT = "512MB"
STORAGE_VERSION = "v1.4.0"  # the oldest DuckDB readers may have; what 2.0 writes by itself shuts out 1.x

Value: TypeAlias = bool | int | float | str | datetime | date | None

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
_HOLDER = re.compile(r"Conflicting lock is held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")
# What Arrow or Polars would refuse or, as with UHUGEINT, silently turn negative: handed out as text.
_AS_TEXT = re.compile(r"\b(UHUGEINT|BLOB|INTERVAL|UNION|VARIANT|BIGNUM|BIT|TIME WITH TIME ZONE)\b")


def connect(
    path: Path | None,
    *,
    read_only: bool = False,
    memory_limit: str | None = None,
    threads: int | None = None,
    keep_row_order: bool = True,
) -> duckdb.DuckDBPyConnection:
    """A connection to the file, or to a database in memory where path is None.

    memory_limit    as DuckDB writes it ("1GB"); None leaves DuckDB's own, 80 % of the machine
    keep_row_order  False lets threads write rows as they come: 1.3 to 1.7 times quicker loading
    raises          WarehouseError if the file is in use (by whom is said), damaged or out of reach
    """
    config = dict(_SETTINGS)
    if not read_only:
        config["storage_compatibility_version"] = STORAGE_VERSION
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    if threads is not None:
        config["threads"] = threads
    config["preserve_insertion_order"] = keep_row_order
    try:
        con = duckdb.connect(path or ":memory:", read_only=read_only, config=config)
    except duckdb.Error as error:
        raise unusable(error, path or Path(":memory:")) from error
    con.execute("set TimeZone = 'UTC'")
    return con


def unusable(error: duckdb.Error, path: Path) -> WarehouseError:
    """The error in the words of somebody who has to do something about it."""
    held = _HOLDER.search(str(error))
    if held:
        return WarehouseError(
            f"{path.name} is in use",
            where=str(path),
            why=f"process {held['pid']} ({held['program']}) holds it; one writer excludes all others",
            fix="wait until that process has ended, or end it",
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return WarehouseError(
            "the work takes more memory than it may use",
            where=str(path),
            why=first_line(error),
            fix="give fewer files at once, as those of one day",
        )
    return WarehouseError(
        f"{path.name} cannot be used",
        where=str(path),
        why=first_line(error),
        fix="mend what is named; a damaged work file can be deleted and the inputs ingested again",
    )


def first_line(error: Exception) -> str:
    """What DuckDB says, without the query it quotes after that."""
    return str(error).strip().split("\n", maxsplit=1)[0]


def hand_out(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """The rows as Polars holds them: HUGEINT (any sum of integers) as Int64, what Polars cannot hold as text.

    raises   duckdb.ConversionException if a HUGEINT is larger than an Int64
    """
    columns = []
    for position, (name, dtype) in enumerate(zip(relation.columns, relation.types, strict=True), start=1):
        kind = str(dtype)
        if kind == "HUGEINT":
            columns.append(f"#{position}::bigint as {identifier(name)}")
        elif _AS_TEXT.search(kind):
            columns.append(f"#{position}::varchar as {identifier(name)}")
        else:
            columns.append(f"#{position} as {identifier(name)}")
    if any("::" in column for column in columns):
        relation = relation.project(", ".join(columns))
    frame: pl.DataFrame = relation.pl()
    return frame


def identifier(*parts: str) -> str:
    """Schema, table and column, or fewer, each quoted: `at` and its like are words of DuckDB's grammar."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def literal(text: str) -> str:
    """The text as a SQL literal, for statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"

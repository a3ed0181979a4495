"""Frames into tables, by Arrow: names and types must be those declared, as DuckDB would quietly convert."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

import duckdb
import polars as pl
import polars.selectors as cs

from tracemortem.warehouse.engine import identifier
from tracemortem.warehouse.tables import Table

_NAMES = {"field": pl.String(), "name": pl.String(), "rows": pl.UInt64()}


class Load:
    """One file on its way in. Made by Store.loading or ledger.growing, which open and end the transaction.

    sha256, size   of the file as it lies, compressed or not; set them before the end where they are not known
                   sooner
    after_line, after_series   what is appended has line and series numbers that go on from these
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        tables: Mapping[str, Table],
        file_id: int,
        *,
        sha256: str | None = None,
        size: int = 0,
    ) -> None:
        self.file_id = file_id
        self.sha256 = sha256
        self.size = size
        self.after_line = 0
        self.after_series = 0
        self.stored = 0
        self.rejected = 0
        self.records = 0
        self.bytes_read = 0
        self.first_at: datetime | None = None
        self.last_at: datetime | None = None
        self.clock: str | None = None
        self.names: Counter[tuple[str, str]] = Counter()
        self._checked: set[str] = set()
        self._con = con
        self._tables = tables

    def append(
        self,
        rows: Mapping[str, pl.DataFrame],
        rejects: pl.DataFrame,
        *,
        records: int,
        stored: int,
        bytes_read: int,
        clock: str = "",
        names: Mapping[tuple[str, str], int] | None = None,
    ) -> None:
        """Add what one block of the file held.

        rows        raw table (`span`, `sample`, ...) -> rows, with the table's columns but file_id
        rejects     line, reason, excerpt
        records     records seen in the block; each is stored or a reject
        clock       where the times of records that carry none come from; "" if all carry theirs
        names       (column of raw.span, attribute) -> rows that took the column from that attribute
        raises      ValueError if records are lost, or a frame is not as its table is declared
        """
        if records != stored + rejects.height:
            raise ValueError(f"{records} records, but {stored} stored and {rejects.height} rejected")
        for name, frame in rows.items():
            self._insert(f"raw.{name}", frame)
            self._stretch(frame)
        self._insert("meta.reject", rejects)
        self.stored += stored
        self.rejected += rejects.height
        self.records += records
        self.bytes_read += bytes_read
        self.clock = clock or self.clock
        self.names.update(names or {})

    def names_used(self) -> pl.DataFrame:
        """Rows of meta.name_used: field, name, rows."""
        rows = [(f"span.{column}", name, count) for (column, name), count in sorted(self.names.items())]
        return pl.DataFrame(rows, schema=_NAMES, orient="row")

    def _insert(self, name: str, frame: pl.DataFrame) -> None:
        # most blocks have nothing for most tables, and to check a frame takes DuckDB 2 ms: once will do
        if frame.height or name not in self._checked:
            insert(self._con, self._tables[name], self._numbered(frame), file_id=self.file_id)
            self._checked.add(name)

    def _numbered(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with the numbers of lines and series that go on where the file was left."""
        behind = {"line": self.after_line, "series_no": self.after_series}
        return frame.with_columns(
            (pl.col(name) + number).cast(frame.schema[name])
            for name, number in behind.items()
            if number and name in frame.columns
        )

    def _stretch(self, frame: pl.DataFrame) -> None:
        """Widen the file's time span by every instant in the frame."""
        first, last = stretch(frame)
        if first is not None and last is not None:
            self.first_at = min(first, self.first_at or first)
            self.last_at = max(last, self.last_at or last)


def stretch(frame: pl.DataFrame) -> tuple[datetime | None, datetime | None]:
    """The first and the last instant in any column of times; None where there is none."""
    times = frame.select(cs.datetime())
    if not times.width:
        return None, None
    first, last = times.select(
        first=pl.min_horizontal(pl.all().min()), last=pl.max_horizontal(pl.all().max())
    ).row(0)
    return first, last


def insert(
    con: duckdb.DuckDBPyConnection, table: Table, frame: pl.DataFrame, *, file_id: int | None = None
) -> None:
    """Append the frame; with file_id, that becomes a column of its own.

    raises   ValueError naming the first column that is missing, too many or of another type
    """
    # A relation, not a view: a transaction keeps the rows behind each view it made, dropped or not
    incoming = con.from_arrow(frame.to_arrow(compat_level=pl.CompatLevel.newest()))
    types = {name: str(kind) for name, kind in zip(incoming.columns, incoming.types, strict=True)}
    if file_id is not None:
        types["file_id"] = "UINTEGER"
    for column in {**table.types, **types}:
        if types.get(column) != table.types.get(column):
            declared, found = table.types.get(column), types.get(column)
            raise ValueError(f"{table.name}.{column} is declared {declared}, the rows have {found}")
    if frame.height:
        # a column in which nothing stands costs DuckDB as much as any other, and is null without it too
        held = [one.name for one in frame if one.null_count() < frame.height] or frame.columns
        columns = ", ".join(map(identifier, held))
        given = "" if file_id is None else f"{file_id}::uinteger as file_id, "
        incoming.query("incoming", f"insert into {table.name} by name select {given}{columns} from incoming")

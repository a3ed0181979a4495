"""The private work file: opened by one process, loaded one file a transaction, asked for frames."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import duckdb
import polars as pl

from tracemortem import folders
from tracemortem.declared import Threshold
from tracemortem.errors import WarehouseError
from tracemortem.warehouse import engine, tables
from tracemortem.warehouse.engine import Value
from tracemortem.warehouse.load import Load, insert

# DuckDB shuts out other processes, but gives a second opener in this one the same database.
_OPEN: set[Path] = set()
_OPENING = threading.Lock()
_EXHAUSTED = (duckdb.OutOfMemoryException, duckdb.IOException)
_THRESHOLD = {
    "name": pl.String(),
    "value": pl.Float64(),
    "unit": pl.String(),
    "why": pl.String(),
    "source": pl.String(),
}


Params: TypeAlias = Mapping[str, Value] | list[Value] | None


class Store:
    """The work file beside a published one: `with Store(Path("x.duckdb")) as store:` opens x.duckdb.work.

    path          the file that readers open; it is not touched
    sql           the folder with raw/ and meta/, by default the one that travels with the code
    memory_limit  as DuckDB writes it; what does not fit goes to disk beside the file
    threads       None: as many as the machine has
    raises        WarehouseError on entering if another process (its number is said) or this one has it open,
                  or if it is damaged, out of reach or made by a version with other raw columns

    Rows lie in the file as the threads brought them: a query that needs an order states it.
    Sums of doubles differ from run to run in their last digits when threads > 1.
    """

    def __init__(
        self,
        path: Path,
        *,
        sql: Path | None = None,
        memory_limit: str = engine.MEMORY_LIMIT,
        threads: int | None = None,
    ) -> None:
        self.work = path.with_name(path.name + ".work").resolve()
        self.sql = sql or folders.folder("sql")
        self._memory_limit = memory_limit
        self._threads = threads
        self._run: int | None = None

    def __enter__(self) -> Self:
        with _OPENING:
            if self.work in _OPEN:
                raise WarehouseError(
                    f"{self.work.name} is in use",
                    where=str(self.work),
                    why="this same process has it open",
                    fix="close the first store before the second is opened",
                )
            self.tables = tables.declared(self.sql)
            self._make_folder()
            self.con = engine.connect(
                self.work, memory_limit=self._memory_limit, threads=self._threads, keep_row_order=False
            )
            try:
                tables.create(self.con, self.tables, self.work)
            except BaseException:
                self.con.close()
                raise
            _OPEN.add(self.work)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.con.close()
        _OPEN.discard(self.work)

    def begin_run(self, *, started_at: datetime, product_version: str, settings: str) -> int:
        """Note a run in meta.run; files loaded from here on carry its number. settings: JSON text."""
        run = self.next_number("meta.run", "run_id")
        self.run("insert into meta.run values ($1, $2, $3, $4)", [run, started_at, product_version, settings])
        self._run = run
        return run

    def record_thresholds(self, thresholds: Mapping[str, Threshold]) -> None:
        """Put the thresholds of this run into meta.threshold, in place of those before."""
        rows = [(t.name, float(t.value), t.unit, t.why, t.source) for t in thresholds.values()]
        self.replace("meta.threshold", [pl.DataFrame(rows, schema=_THRESHOLD, orient="row")])

    def forget_skipped(self, path: str) -> None:
        """Take out what earlier runs noted of a file that they skipped: this run says anew what it is."""
        self.run(
            "delete from meta.input "
            "where path = $1 and kind = 'skipped' and ingested_in_run is distinct from $2",
            [path, self._run],
        )

    @contextmanager
    def loading(
        self, *, path: str, sha256: str | None, size: int, kind: str, format_name: str
    ) -> Iterator[Load]:
        """One input file, whole or not at all: an exception inside leaves no row of it.

        path         relative to the input it was found under
        sha256       of the file as it lies, compressed or not; None if it cannot be opened, or is told only
                     when it was read (Load.sha256); size likewise, in bytes
        kind         sort of telemetry, or `skipped`: then format_name says why, and nothing is appended
        """
        with self.transaction():
            number = self.next_number("meta.input", "file_id")
            load = Load(self.con, self.tables, number, sha256=sha256, size=size)
            yield load
            self.put_input(load, path=path, kind=kind, format_name=format_name)

    def put_input(self, load: Load, *, path: str, kind: str, format_name: str) -> None:
        """The row of meta.input of a file that is read, and those of meta.name_used."""
        insert(self.con, self.tables["meta.name_used"], load.names_used(), file_id=load.file_id)
        self.run(
            "insert into meta.input (file_id, path, sha256, bytes, kind, format, rows, rejects, records, "
            "bytes_read, first_at, last_at, clock, ingested_in_run) "
            "values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
            [
                load.file_id, path, load.sha256, load.size, kind, format_name, load.stored, load.rejected,
                load.records, load.bytes_read, load.first_at, load.last_at, load.clock, self._run,
            ],
        )  # fmt: skip

    def replace(self, table: str, frames: Iterable[pl.DataFrame]) -> None:
        """Fill a declared raw or meta table with the rows of these frames alone, in one transaction.

        raises   ValueError if a frame's columns or types are not those declared
        """
        with self.transaction():
            self.run(f"delete from {table}")
            for frame in frames:
                insert(self.con, self.tables[table], frame)

    def pages(self, table: str, rows: int) -> Iterator[pl.DataFrame]:
        """The rows of a table from which none was deleted, so many at a time, in no order."""
        for start in range(0, int(str(self.scalar(f"select count(*) from {table}"))), rows):
            yield self.frame(
                f"from {table} where rowid >= $start and rowid < $end", {"start": start, "end": start + rows}
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing of what is done inside.

        raises   WarehouseError if memory or disk give out; whatever else is raised inside, as it is
        """
        try:
            self.con.begin()
            try:
                yield
            except BaseException:
                self.con.rollback()
                raise
            self.con.commit()  # rolls back by itself where it fails
        except _EXHAUSTED as error:
            raise engine.unusable(error, self.work) from error

    def frame(self, sql: str, params: Mapping[str, Value] | None = None) -> pl.DataFrame:
        """The rows of a SELECT: instants in UTC, HUGEINT (any sum of integers) as Int64, UHUGEINT as text."""
        try:
            return engine.hand_out(self.con.sql(sql, params=dict(params) if params else None))
        except _EXHAUSTED as error:
            raise engine.unusable(error, self.work) from error

    def scalar(self, sql: str, params: Params = None) -> Value:
        """The first column of the first row; None if there is none."""
        rows = self.run(sql, params)
        value: Value = rows[0][0] if rows else None  # type: ignore[assignment]
        return value

    def run(self, sql: str, params: Params = None) -> list[tuple[object, ...]]:
        """Run one statement and fetch all its rows.

        raises   WarehouseError if memory or disk give out; any other duckdb.Error as it is
        """
        try:
            return self.con.execute(sql, params or None).fetchall()
        except _EXHAUSTED as error:
            raise engine.unusable(error, self.work) from error

    def _make_folder(self) -> None:
        try:
            self.work.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WarehouseError(
                f"there is no place for {self.work.name}",
                where=str(self.work),
                why=str(error),
                fix="name a file in a folder that you may write to",
            ) from error

    def next_number(self, table: str, column: str) -> int:
        """The number of the next row: one more than the highest."""
        found = self.scalar(f"select coalesce(max({column}), 0) + 1 from {table}")
        return int(str(found))

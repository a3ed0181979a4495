"""The days of a warehouse: which are due, and the records of one of them in a work file of its own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import duckdb

from tracemortem.warehouse import engine
from tracemortem.warehouse.engine import Value, identifier, literal
from tracemortem.warehouse.store import Store

_AFTER = timedelta(minutes=15)  # of the next day, in which what began before midnight may end
# When a record happened, by the table that has it.
TIMES: Mapping[str, str] = {
    "raw.access": "coalesce(started_at, finished_at)",
    "raw.span": "started_at",
    "raw.sample": '"at"',
    "raw.event": '"at"',
    "raw.log": '"at"',
}
# A minute is quiet outside of whatever stood out; a day, where nothing that stood out was an incident.
_QUIET_MINUTE = """
    not exists (
        select 1 from whole.raw.busy
        where
            busy.service = past.service
            and busy.from_at < past.minute + interval 1 minute
            and coalesce(busy.to_at > past.minute, true)
    )
"""
_QUIET_DAY = """
    not exists (
        select 1 from whole.raw.incident
        where
            incident.service = past.service
            and incident.status = 'confirmed'
            and incident.started_at < past.day + interval 1 day
            and coalesce(incident.ended_at > past.day, true)
    )
"""
# What earlier days tell, by the table it is read from; that is there once a day was told.
_PAST: Mapping[str, tuple[str, str]] = {
    "mart.signal_minute": (
        "raw.past_minute",
        "select minute, service, signal, value from whole.mart.signal_minute as past "
        f"where minute >= $reach and minute < $first and {_QUIET_MINUTE}",
    ),
    "mart.figure_day": (
        "raw.past_figure",
        f"select day, service, figure, span, value, {_QUIET_DAY} "
        "from whole.mart.figure_day as past where day < $day",
    ),
    "mart.source_day": (
        "raw.past_source",
        "select day, service, client_net, requests, total_tokens from whole.mart.source_day where day < $day",
    ),
    "mart.reporter_day": (
        "raw.past_reporter",
        "select day, kind, name, records from whole.mart.reporter_day where day < $day",
    ),
}


@dataclass(frozen=True)
class Day:
    """A day in UTC."""

    date: date

    @property
    def start(self) -> datetime:
        """Its first instant."""
        return datetime.combine(self.date, time(), UTC)

    @property
    def end(self) -> datetime:
        """The first instant of the next."""
        return self.start + timedelta(days=1)


def is_warehouse(store: Store) -> bool:
    """Whether this work file is one of many days."""
    return bool(store.scalar("select count(*) from meta.coverage"))


def cover(store: Store) -> None:
    """Bring meta.coverage up to the records there are.

    A day whose records went away, as they are too old, keeps what is known of it.
    """
    marks = " union all ".join(
        f"select ({at})::date as day, hash(file_id, line, {at}) as mark from {table}"
        for table, at in TIMES.items()
    )
    with store.transaction():
        store.run(
            "create or replace temp table covered as "
            "select day, count(*) as records, bit_xor(mark)::varchar || ' of ' || count(*) as content "
            f"from ({marks}) where day is not null group by day"
        )
        store.run(
            "update meta.coverage set records = covered.records, content = covered.content "
            "from covered where coverage.day = covered.day"
        )
        store.run(
            "insert into meta.coverage (day, records, content) "
            "select day, records, content from covered anti join meta.coverage using (day)"
        )
        store.run("drop table covered")


def due(store: Store, *, since: date, until: date) -> tuple[Day, ...]:
    """The days that have records and were not told yet, or from other records, in order.

    since   the first day whose records, and those of the days before it, are kept
    until   the first day that is not over
    """
    return _days(store, "day >= $1 and day < $2 and told_content is distinct from content", [since, until])


def covered(store: Store, day: date) -> Day | None:
    """One day, whether it is due or not; None if there is no record of it."""
    return next(iter(_days(store, "day = $1", [day])), None)


def cut(
    whole: Path, own: Store, day: Day, *, lookback_days: int, reach_days: int, objective_s: float | None
) -> int:
    """Fill the day's own work file with its records and those of the days before; returns how many.

    whole          the work file of the warehouse, closed
    lookback_days  so many days before it are looked at with it
    reach_days     so many days before it tell what is usual at which minute
    """
    first, last = day.start - timedelta(days=lookback_days), day.end + _AFTER
    reach = day.start - timedelta(days=reach_days)
    files = " union ".join(f"select file_id from {table}" for table in TIMES)
    of_files = f"where file_id in ({files})"
    records = 0
    with attached(own, whole, "whole"), own.transaction():
        for table, at in TIMES.items():
            [(rows,)] = own.run(
                f"insert into {table} by name from whole.{table} where {at} >= $1 and {at} < $2 "
                "order by file_id, line",
                [first, last],
            )
            records += int(str(rows))
        for table, which in (
            ("raw.series", of_files),
            ("raw.address", ""),
            ("meta.annotation", ""),
            ("meta.threshold", ""),
            ("meta.run", ""),
            ("meta.name_used", of_files),
            ("meta.reject", of_files),
            ("meta.input", f"{of_files} or kind = 'log_format'"),
        ):
            own.run(f"insert into {table} by name from whole.{table} {which}")
        own.run("insert into raw.day values ($1, $2, $3, $4)", [day.date, day.start, day.end, objective_s])
        there = tables(own, "whole")
        asked: dict[str, Value] = {"day": day.date, "first": first, "reach": reach}
        for source, (table, select) in _PAST.items():
            if source in there:
                bound = {name: value for name, value in asked.items() if f"${name}" in select}
                own.run(f"insert into {table} {select}", bound)
        _count_what_is_here(own)
    return records


def tables(store: Store, database: str | None = None, *, kind: str = "table") -> dict[str, dict[str, str]]:
    """The tables (or views) of an attached database, by default of the work file: name -> column -> type."""
    found: dict[str, dict[str, str]] = {}
    for table, column, type_name in store.run(
        "select told.schema_name || '.' || told.table_name, told.column_name, told.data_type "
        f"from duckdb_columns() as told inner join duckdb_{kind}s() as there "
        f"on told.table_oid = there.{kind}_oid and told.database_oid = there.database_oid "
        "where told.database_name = coalesce($1, current_database()) and not there.internal "
        "order by told.schema_name, told.table_name, told.column_index",
        [database],
    ):
        found.setdefault(str(table), {})[str(column)] = str(type_name)
    return found


@contextmanager
def attached(store: Store, file: Path, name: str) -> Iterator[None]:
    """Another work file, closed, to be read under that name; not within a transaction.

    raises   WarehouseError if it is in use or damaged
    """
    try:
        store.run(f"attach {literal(str(file))} as {identifier(name)} (read_only)")
    except duckdb.Error as error:
        raise engine.unusable(error, file) from error
    try:
        yield
    finally:
        store.run(f"detach {identifier(name)}")


def _days(store: Store, which: str, params: list[Value]) -> tuple[Day, ...]:
    rows = store.run(f"select day from meta.coverage where {which} order by day", params)
    return tuple(Day(row[0]) for row in rows)  # type: ignore[arg-type]


def _count_what_is_here(own: Store) -> None:
    """meta.input as of this file alone: records of other days are none of it; rejects have no day."""
    counted = " union all ".join(f"select file_id from {table}" for table in TIMES)
    own.run(
        "update meta.input set rows = here.rows, records = here.rows + rejects "
        f"from (select file_id, count(*) as rows from ({counted}) group by file_id) as here "
        "where input.file_id = here.file_id"
    )

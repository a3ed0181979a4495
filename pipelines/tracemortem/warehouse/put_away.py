"""What the run of a day made, put into the warehouse in the place of what an earlier run of it made.

Figures and findings go into the work file, by day. Facts, the many rows, go beside it into FILE.lake, a
Parquet file a table and day, and are views of the same names.
"""

import json
import os
import shutil
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, time
from pathlib import Path

from tracemortem.errors import WarehouseError
from tracemortem.warehouse import header
from tracemortem.warehouse.days import TIMES, Day, attached, tables
from tracemortem.warehouse.engine import Value, identifier, literal
from tracemortem.warehouse.model import STAGES
from tracemortem.warehouse.store import Store

# When a fact happened. Facts without a time belong to no day: those of the latest day stand in the file.
_FACTS: Mapping[str, str] = {
    "norm.request": "started_at",
    "norm.span": "started_at",
    "norm.event": "happened_at",
    "norm.log": "logged_at",
    "norm.metric": "sampled_at",
    "norm.engine_sample": "sampled_at",
    "norm.gpu_sample": "sampled_at",
    "norm.host_sample": "sampled_at",
}
# What the run of a day fills of raw and meta; the rest of them is the warehouse's own, or the run's alone.
_OWN = frozenset({"meta.placebo", "meta.replay_minute", "raw.incident"})
_OF_DAY = "{0} >= $1 and {0} < $2"


def put_facts(store: Store, own: Path, day: Day, folder: Path) -> None:
    """The facts of the day into the lake, each file whole or as it was.

    own      the day's work file, closed
    folder   the lake
    """
    with attached(store, own, "own"):
        made = tables(store, "own")
        for table, at in _FACTS.items():
            # Parquet knows no integer of 128 bits without a sign; the view reads it from text
            columns = ", ".join(
                f"{identifier(name)}::varchar as {identifier(name)}"
                if kind == "UHUGEINT"
                else identifier(name)
                for name, kind in made[table].items()
            )
            target = folder.joinpath(*table.split("."), f"day={day.date.isoformat()}", "facts.parquet")
            target.parent.mkdir(parents=True, exist_ok=True)
            fresh = target.with_name(f".{target.name}.{os.getpid()}.tmp")
            store.run(
                f"copy (select {columns} from own.{table} where {at} >= {literal(day.start.isoformat())} "
                f"and {at} < {literal(day.end.isoformat())} order by all) "
                f"to {literal(str(fresh))} (format parquet, compression zstd)"
            )
            fresh.replace(target)


def put_away(
    store: Store,
    own: Path,
    day: Day,
    folder: Path,
    *,
    diagnosis: str,
    gone: Collection[str],
    incidents: int,
    now: datetime,
    is_latest: bool,
) -> None:
    """All else that the day's run made, and that the day is told; in one transaction, after its facts.

    diagnosis  of all days, as meta.diagnosis has it
    gone       ids of incidents that an earlier run of the day told
    incidents  confirmed ones that touch the day
    is_latest  no later day was told: what belongs to no day is taken over
    raises     WarehouseError if a table was made by a version with other columns
    """
    with attached(store, own, "own"), store.transaction():
        made = tables(store, "own")
        if not store.scalar("select count(*) from meta.coverage where told_at is not null"):
            _drop_all_figures(store)  # of a file into which was only ingested
        store.run("create temp table told as select incident_id from own.raw.incident")
        store.run("insert into told select unnest(from_json($1, '[\"varchar\"]'))", [_json(gone)])
        there = tables(store)
        for table, columns in made.items():
            if table in _FACTS or (table.startswith(("raw.", "meta.")) and table not in _OWN):
                continue
            which = _which(columns, is_latest=is_latest)
            if which is not None:
                _put(store, table, columns, which, day, there.get(table))
        _put(store, "raw.busy", made["raw.busy"], _OF_DAY.format("from_at"), day, there.get("raw.busy"))
        store.run("drop table told")
        store.run("delete from meta.diagnosis")
        store.run("insert into meta.diagnosis values ($1)", [diagnosis])
        store.run(
            "update meta.coverage set told_content = content, told_at = $1, incidents = $2 where day = $3",
            [now, incidents, day.date],
        )
        _put_views(store, made, folder)


def retain(store: Store, folder: Path, *, records_since: date | None, figures_since: date | None) -> int:
    """Drop what is older: records and facts, figures and findings; returns how many days went untold.

    None: all are kept. Which files were read is remembered, so that none of them is read again. The facts of
    the last day stay however old they are, since a view without a file is none.
    """
    untold = 0
    with store.transaction():
        if records_since is not None:
            untold = len(
                store.run(
                    "delete from meta.coverage where day < $1 and told_at is null returning day",
                    [records_since],
                )
            )
        for table, at in TIMES.items() if records_since is not None else ():
            store.run(f"delete from {table} where {at} < $1", [_midnight(records_since)])
        for table, columns in tables(store).items() if figures_since is not None else ():
            if table.partition(".")[0] not in ("raw", "norm"):
                for name in {"minute", "day"} & set(columns):
                    store.run(f"delete from {table} where {name} < $1", [_midnight(figures_since)])
        viewed = tables(store, kind="view")
        if viewed:  # the file may lie elsewhere than when its days were told
            _put_views(store, viewed, folder)
    for of_table in folder.glob("norm/*") if records_since is not None else ():
        for old in sorted(of_table.glob("day=*"))[:-1]:
            if old.name < f"day={records_since}":
                shutil.rmtree(old)
    return untold


def _which(columns: Collection[str], *, is_latest: bool) -> str | None:
    """Which rows of a table are the day's; None: none of them is taken over."""
    if "incident_id" in columns:
        return "incident_id in (from told)"
    for name in ("minute", "day", "started_at"):
        if name in columns:
            return _OF_DAY.format(name)
    return "true" if is_latest else None


def _put(
    store: Store,
    table: str,
    columns: Mapping[str, str],
    which: str,
    day: Day,
    there: Mapping[str, str] | None,
) -> None:
    """Rows of the day's run in the place of those the warehouse has."""
    if there is None:
        store.run(f"create schema if not exists {table.partition('.')[0]}")
        store.run(f"create table {table} as from own.{table} limit 0")
        path = store.sql.joinpath(*table.split(".")).with_suffix(".sql")
        store.run(header.comments(header.read_table(path)))
    elif dict(there) != dict(columns):
        raise WarehouseError(
            f"{store.work.name} was made by another version of the product",
            where=str(store.work),
            why=f"{table} has other columns",
            fix="delete it and run daily on the inputs again; what was published stays readable meanwhile",
        )
    params: list[Value] = [day.start, day.end] if "$1" in which else []
    store.run(f"delete from {table} where {which}", params)
    store.run(f"insert into {table} by name from own.{table} where {which}", params)


def _put_views(store: Store, made: Mapping[str, Mapping[str, str]], folder: Path) -> None:
    """The facts of all days that are kept, under the names that they have in a file of one run."""
    store.run("create schema if not exists norm")
    for table in _FACTS:
        files = folder.joinpath(*table.split("."), "*", "facts.parquet")
        columns = ", ".join(
            f"{identifier(name)}::uhugeint as {identifier(name)}" if kind == "UHUGEINT" else identifier(name)
            for name, kind in made[table].items()
        )
        store.run(
            f"create or replace view {table} as select {columns} "
            f"from read_parquet({literal(str(files))}, hive_partitioning = false)"
        )
        path = store.sql.joinpath(*table.split(".")).with_suffix(".sql")
        store.run(header.comments(header.read_table(path), "view"))


def _drop_all_figures(store: Store) -> None:
    for table in tables(store):
        if table.partition(".")[0] in STAGES:
            store.run(f"drop table {table}")


def _json(texts: Collection[str]) -> str:
    return json.dumps(list(texts))


def _midnight(day: date | None) -> datetime:
    return datetime.combine(day or date.min, time(), UTC)

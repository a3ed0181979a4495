"""Around the diagnosis of a day of a warehouse: which days are due, its own records, and where results go."""

import shutil
from dataclasses import replace as changed
from datetime import date, timedelta
from pathlib import Path

from tracemortem import folders
from tracemortem.errors import SettingError, WarehouseError
from tracemortem.progress import stage
from tracemortem.settings import Settings, objective_s
from tracemortem.steps import opened
from tracemortem.steps.diagnosis import dumped, kept, merged
from tracemortem.steps.explain import inputs
from tracemortem.warehouse import check, days, lake
from tracemortem.warehouse import put_away as away
from tracemortem.warehouse.days import Day


def refuse_warehouse(settings: Settings) -> None:
    """Raise WarehouseError where the DuckDB file is one of many days: a single run would take its place."""
    with opened.store(settings) as store:
        if days.is_warehouse(store):
            raise WarehouseError(
                f"{settings.published().name} is a warehouse of many days",
                where=str(settings.published()),
                why="what this command makes of all records at once would stand in the place of its days",
                fix="run `tracemortem daily` on it, or name another --db",
            )


def due(settings: Settings) -> tuple[date, ...]:
    """The days to be told, after the records that came in are counted by day.

    raises   SettingError if the day asked for has no record, or those of it are gone; WarehouseError if
             records were lost on the way
    """
    lake.checked(settings.published())
    values = opened.values(settings)
    today = opened.now().date()
    with opened.store(settings) as store, stage("days") as told:
        for checked in check.run(
            store, folders.folder("sql"), values, names="fail_re[cj]*"
        ):  # of records and rejects
            if checked.status == "fail":
                raise WarehouseError(
                    f"check {checked.name} failed",
                    where=checked.first,
                    why=checked.about,
                    fix="report it: the tables cannot be trusted",
                )
        days.cover(store)
        since = _kept_since(settings, "keep_raw_days") or date.min
        if settings.day is not None:
            found = days.covered(store, date.fromisoformat(settings.day))
            if found is None or found.date < since:
                raise SettingError(
                    f"there is no record of {settings.day}",
                    where="--day",
                    why="no input has one" if found is None else f"those before {since} are no longer kept",
                    fix="name a day in UTC that meta.coverage lists, or give its files",
                )
            return (found.date,)
        found_days = days.due(store, since=since, until=today)
        told.advance(0, len(found_days))
    return tuple(day.date for day in found_days)


def of_day(settings: Settings, day: date) -> Settings:
    """The settings of the run of one day: its own work file, its own folder for the report."""
    return changed(
        settings,
        inputs=(),
        out=str(Path(settings.out or "") / day.isoformat()),
        db=f"{settings.db}.day",
        day=day.isoformat(),
    )


def cut(settings: Settings, day: date) -> int:
    """The records of the day, and of those before it, into its own work file; returns how many."""
    own = of_day(settings, day)
    forget(own)
    values = opened.values(settings)
    with opened.store(own) as store, stage(f"day {day}") as told:
        records = days.cut(
            opened.store(settings).work,
            store,
            Day(day),
            lookback_days=int(values["day_lookback_days"]),
            reach_days=int(values["day_reach_days"]),
            objective_s=None if settings.objective is None else objective_s(settings.objective),
        )
        told.advance(0, records)
    return records


def put_away(settings: Settings, day: date) -> int:
    """What the day's run made into the warehouse; returns how many incidents are confirmed on it."""
    own = of_day(settings, day)
    folder = lake.lake(settings.published())
    of = Day(day)
    with opened.store(own) as store:
        found = kept(store)
        work = store.work
    confirmed = sum(incident.status == "confirmed" for incident in found.incidents)
    with opened.store(settings) as store, stage(f"keeping {day}"):
        last = store.scalar("select max(day) from meta.coverage where told_at is not null")
        whole, gone = merged(None if last is None else kept(store), found, of.start, of.end)
        whole = changed(whole, inputs=tuple(inputs(store)))
        away.put_facts(store, work, of, folder)
        away.put_away(
            store,
            work,
            of,
            folder,
            diagnosis=dumped(whole),
            gone=gone,
            incidents=confirmed,
            now=opened.now(),
            is_latest=last is None or date.fromisoformat(str(last)) <= day,
        )
    return confirmed


def retain(settings: Settings) -> tuple[str, ...]:
    """Drop what is older than the user wants to keep; returns warnings of days that were never told."""
    since = _kept_since(settings, "keep_raw_days")
    with opened.store(settings) as store, stage("retention"):
        untold = away.retain(
            store,
            lake.lake(settings.published()),
            records_since=since,
            figures_since=_kept_since(settings, "keep_minutes_days"),
        )
    if not untold:
        return ()
    days_untold = f"{untold} day{'s' if untold > 1 else ''}"
    return (
        f"records of {days_untold} before {since} came in and were left out, as older than keep_raw_days; "
        "with --set keep_raw_days=N and a new --db their days are told",
    )


def forget(own: Settings) -> None:
    """Remove the work file of a day's run: what it made is put away, or is made again."""
    for path in own.published().parent.glob(f"{own.published().name}.work*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _kept_since(settings: Settings, threshold: str) -> date | None:
    """The first day that is kept; None: all are."""
    days_kept = int(opened.values(settings)[threshold])
    return opened.now().date() - timedelta(days=days_kept) if days_kept else None

"""When samples were taken that do not say so themselves: told, by the file's name, or by its last change."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl

_NAMED = re.compile(
    r"(?<!\d)(?P<date>20\d\d-?[01]\d-?[0-3]\d)[T_ .-]?(?P<time>[0-2]\d[-:_.]?[0-5]\d(?:[-:_.]?[0-5]\d)?)"
    r"(?P<zone>Z|[+-]\d{4})?(?!\d)"
)
_EPOCH = re.compile(r"(?<!\d)(?P<seconds>1[4-9]\d{8}|2\d{9})(?P<millis>\d{3})?(?!\d)")
_MINUTES_ONLY = 12
_YEARS = (1970, 2200)


@dataclass(frozen=True)
class Told:
    """What the user says of times that files leave out.

    start      when the first sample was taken; None: not said
    every_s    seconds from one to the next; None: not said
    timezone   of times without a zone
    """

    start: datetime | None = None
    every_s: float | None = None
    timezone: str = "UTC"


@dataclass(frozen=True)
class Clock:
    """The times of a file's rounds of samples (scrapes, ticks), counted from 0.

    first_at   of round 0; None: it is not known
    every_s    from one round to the next; None: no other round has a time
    timezone   of times that the file gives without a zone
    source     where the times come from, as it is reported; "" where nobody knows
    last_at    of the last round, where first_at is not known
    rounds     how many there are; asked only where last_at is needed, since the file is read for it
    """

    first_at: datetime | None = None
    every_s: float | None = None
    timezone: str = "UTC"
    source: str = ""
    last_at: datetime | None = None
    rounds: Callable[[], int] = lambda: 1

    def at(self, number: pl.Expr) -> pl.Expr:
        """The time of a round by its number (null: none) as Datetime(us, UTC); null where nobody knows."""
        is_by_last = self.first_at is None and self.last_at is not None
        ahead = number - (self.rounds() - 1 if is_by_last else 0)
        known = pl.lit(self.last_at if is_by_last else self.first_at, dtype=pl.Datetime("us", "UTC"))
        step = ahead.cast(pl.Float64) * (self.every_s or 0.0) * 1e6
        is_known = number.is_not_null() & ((ahead == 0) | pl.lit(self.every_s is not None))
        return pl.when(is_known).then(known + pl.duration(microseconds=step.round().cast(pl.Int64)))

    def lacking(self, number: pl.Expr, what: str = "scrape") -> pl.Expr:
        """Why a round has no time, as a reject's reason."""
        if self.first_at is None and self.last_at is None:
            return pl.lit("no timestamp")
        which = "" if self.first_at is not None else ", not its last"
        return pl.format(
            f"no timestamp, and this is {what} {{}} of the file{which}: give --start and --every", number + 1
        )

    def local(self, text: pl.Expr, form: str) -> pl.Expr:
        """Times written without a zone, in that of the clock, as Datetime(us, UTC); null where it is none.

        An hour that a change of clocks repeats is taken for its first passing; one that it skips is no time.
        """
        read = text.str.to_datetime(form, time_unit="us", strict=False)
        naive = pl.when(read.dt.year().is_between(*_YEARS)).then(read)
        there = naive.dt.replace_time_zone(self.timezone, ambiguous="earliest", non_existent="null")
        return there.dt.convert_time_zone("UTC")


def clock(path: Path, told: Told) -> Clock:
    """The clock of a file: as told, else by a time in its name, else by its last change.

    A file is named when its first round is written; the last change tells when the last one was.
    """
    if told.start is not None:
        return Clock(told.start, told.every_s, told.timezone, "--start")
    if (named := _in_name(path.name, told.timezone)) is not None:
        return Clock(named, told.every_s, told.timezone, "the time in the file's name")
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return Clock(None, told.every_s, told.timezone, "the time of the file's last change", changed)


def _in_name(name: str, timezone: str) -> datetime | None:
    if match := _NAMED.search(name):
        digits = re.sub(r"\D", "", match["date"] + match["time"])
        form = "%Y%m%d%H%M" if len(digits) == _MINUTES_ONLY else "%Y%m%d%H%M%S"
        try:
            naive = datetime.strptime(digits, form)  # noqa: DTZ007  its zone is given two lines below
        except ValueError:
            return None
        zone = match["zone"]
        if zone is None:
            return naive.replace(tzinfo=ZoneInfo(timezone)).astimezone(UTC)
        if zone == "Z":
            return naive.replace(tzinfo=UTC)
        ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:]))
        return (naive - ahead if zone[0] == "+" else naive + ahead).replace(tzinfo=UTC)
    if match := _EPOCH.search(name):
        millis = int(match["millis"] or 0)
        return datetime.fromtimestamp(int(match["seconds"]), UTC) + timedelta(milliseconds=millis)
    return None

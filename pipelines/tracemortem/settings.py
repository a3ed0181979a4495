"""What a run is told, checked before anything is read. Every field is a path, a string or a number."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from ipaddress import ip_network
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tracemortem.errors import SettingError

_DAY_S = 86400
_OBJECTIVE = re.compile(r"p99=(\d{1,6}(?:\.\d{1,6})?)(s|ms)")


@dataclass(frozen=True)
class Settings:
    """The options of a run, as the command line or a flow gives them.

    inputs           files, folders, globs
    out              folder for the report; None for a run that writes none
    db               the DuckDB file that readers open; None: tracemortem.duckdb in `out`, self-contained
    time_from, time_to  requests that arrived outside are left out of detection; None: no bound
    window           FROM/TO: diagnose this window even if nothing is confirmed in it
    baseline         FROM/TO: what incidents are compared with; None: quiet time near each of them
    timezone         zone for what people read, and for sources that carry none
    start            when the first sample was taken of files whose samples carry no time; None: not said
    every_s          seconds from one such sample to the next; None: not said
    trusted_proxies  CIDRs whose X-Forwarded-For is believed
    formats          folder with access-log formats of the user's own, a YAML file each; None: none
    annotations      YAML file with what people who know say of incidents; None: what an earlier run was told
    objective        p99=DURATION, what the service promises; None: not stated
    day              YYYY-MM-DD in UTC: only incidents that touch it are told; None: all
    export           a second DuckDB file, with the facts of a warehouse in it; None: none is made
    overrides        NAME=VALUE of thresholds
    max_rejects      share of records that may be rejected before the run ends with exit code 3
    """

    inputs: tuple[str, ...]
    out: str | None = None
    db: str | None = None
    time_from: str | None = None
    time_to: str | None = None
    window: str | None = None
    baseline: str | None = None
    timezone: str = "UTC"
    start: str | None = None
    every_s: float | None = None
    trusted_proxies: str = ""
    formats: str | None = None
    annotations: str | None = None
    objective: str | None = None
    day: str | None = None
    export: str | None = None
    overrides: tuple[str, ...] = ()
    max_rejects: float = 0.01

    def published(self) -> Path:
        """The DuckDB file that readers open.

        raises   SettingError if neither db nor out says where
        """
        if self.db is not None:
            return Path(self.db)
        if self.out is None:
            raise SettingError(
                "nothing says where the DuckDB file goes",
                where="--db",
                why="without --out there is no folder to put it into",
                fix="add --db FILE",
            )
        return Path(self.out) / "tracemortem.duckdb"

    def checked(self) -> "Settings":
        """The same settings; raises SettingError for the first that makes no sense."""
        named = [*(("INPUT", path) for path in self.inputs), ("--out", self.out), ("--db", self.db)]
        named += [("--formats", self.formats), ("--annotations", self.annotations), ("--export", self.export)]
        for option, path in named:
            if path == "":
                raise SettingError(
                    f"{option} is empty",
                    where=option,
                    why="an empty path would be the current folder, which is hardly meant",
                    fix="name it; for the current folder write .",
                )
        if self.db is not None and (Path(self.db).is_dir() or Path(self.db).name in {"", ".."}):
            raise SettingError(
                f"{self.db} is a folder",
                where="--db",
                why="it must name the DuckDB file itself",
                fix=f"write --db {Path(self.db) / 'tracemortem.duckdb'}",
            )
        if self.export is not None and (
            Path(self.export).is_dir() or Path(self.export).resolve() == self.published().resolve()
        ):
            raise SettingError(
                f"{self.export} is {'a folder' if Path(self.export).is_dir() else 'the file of --db'}",
                where="--export",
                why="it must name a second DuckDB file",
                fix="name another file",
            )
        zone(self.timezone)
        begins, ends, _ = (
            None if text is None else instant(text, self.timezone, option)
            for option, text in (("--from", self.time_from), ("--to", self.time_to), ("--start", self.start))
        )
        if begins is not None and ends is not None and ends <= begins:
            raise SettingError(
                "no time is left between --from and --to",
                where=f"--from {self.time_from} --to {self.time_to}",
                why="the second is not after the first",
                fix="put the earlier time first",
            )
        for option, text in (("--window", self.window), ("--baseline", self.baseline)):
            if text is not None:
                span(text, self.timezone, option)
        if self.every_s is not None and not 0 < self.every_s <= _DAY_S:
            raise SettingError(
                f"--every {self.every_s:g} is no distance between samples",
                where="--every",
                why="it is the seconds from one sample to the next, at most a day",
                fix="write the interval it was recorded with, as 1 or 0.5",
            )
        networks(self.trusted_proxies)
        if self.objective is not None:
            objective_s(self.objective)
        if self.day is not None:
            day_bounds(self.day)
        if not 0 <= self.max_rejects <= 1:
            raise SettingError(
                f"--max-rejects {self.max_rejects} is no share",
                where="--max-rejects",
                why="it is the part of all records that may be rejected",
                fix="write a number from 0 to 1, as 0.01 for 1 %",
            )
        return self


def zone(name: str) -> ZoneInfo:
    """The time zone of that name; raises SettingError if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise SettingError(
            f"no time zone is called {name!r}",
            where="--tz",
            why="it is not in the time zone database of this machine",
            fix="write a name such as UTC, Europe/Berlin or Asia/Shanghai",
        ) from error


def instant(text: str, timezone: str, option: str) -> datetime:
    """A time as people write it, in UTC: RFC 3339, or local in the time zone where it carries none.

    raises   SettingError if it is no time
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise SettingError(
            f"{text!r} is no time",
            where=option,
            why=str(error),
            fix="write it as 2026-04-24T02:17:00Z, or without Z as local time of --tz",
        ) from error
    if found.tzinfo is None:
        found = found.replace(tzinfo=zone(timezone))
    return found.astimezone(UTC)


def day_bounds(day: str) -> tuple[datetime, datetime]:
    """The first instant of a day and of the next, in UTC; raises SettingError if it is no day."""
    try:
        first = datetime.combine(date.fromisoformat(day), time(), UTC)
        return first, first + timedelta(days=1)
    except (ValueError, OverflowError) as error:
        raise SettingError(
            f"{day!r} is no day",
            where="--day",
            why=str(error),
            fix="write it as 2026-04-24; days are those of UTC",
        ) from error


def span(window: str, timezone: str, option: str = "--window") -> tuple[datetime, datetime]:
    """FROM/TO as two instants in UTC; raises SettingError if it is none, or empty."""
    begins, slash, ends = window.partition("/")
    if not slash:
        raise SettingError(
            f"{window!r} is no window",
            where=option,
            why="a window is two times with a slash between them",
            fix="write it as 2026-04-24T02:17Z/2026-04-24T02:51Z",
        )
    first, last = instant(begins, timezone, option), instant(ends, timezone, option)
    if last <= first:
        raise SettingError(
            "the window is empty",
            where=f"{option} {window}",
            why="it ends before it begins",
            fix="put the earlier time first",
        )
    return first, last


def objective_s(text: str) -> float:
    """The seconds of p99=2s or p99=800ms; raises SettingError if it is no objective."""
    said = _OBJECTIVE.fullmatch(text.strip())
    seconds = float(said[1]) * (0.001 if said[2] == "ms" else 1.0) if said else 0.0
    if seconds <= 0:
        raise SettingError(
            f"{text!r} is no objective",
            where="--objective",
            why="it is the latency that 99 of 100 requests are to stay under",
            fix="write it as p99=2s or p99=800ms",
        )
    return seconds


def networks(text: str) -> Sequence[str]:
    """CIDRs between commas, each in canonical form; raises SettingError for the first that is none."""
    found = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        try:
            found.append(str(ip_network(part, strict=False)))
        except ValueError as error:
            raise SettingError(
                f"{part!r} is no address range",
                where="--trusted-proxies",
                why=str(error),
                fix="write CIDRs with commas between them, as 10.0.0.0/8,2001:db8::/32",
            ) from error
    return found

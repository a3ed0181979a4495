"""What files are and hold, without loading them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tracemortem.errors import printable
from tracemortem.settings import Settings, instant
from tracemortem.sources import find, registry
from tracemortem.sources.clock import Told
from tracemortem.sources.recognise import LINES
from tracemortem.steps.refuse import is_without_rows, no_row
from tracemortem.warehouse.load import stretch

_SHOWN = 3


@dataclass(frozen=True)
class Inspected:
    """One file: what it is taken for and why, and what reading it gives.

    runner_up    the access-log format that came second, and how many of the first lines it reads; "": none
    rejects      how many records could not be read; reasons: the first three of them, `line N: reason`
    zone         what times were taken for that are written without a zone; "": the format has none such
    clock        where the times come from of records that carry none; "": all carry theirs
    names        of each column of spans: the attributes it was taken from, and by how many
    first_rows   up to three rows of each table that it fills
    """

    path: str
    kind: str
    format: str
    reason: str
    runner_up: str
    rows: int
    rejects: int
    reasons: tuple[str, ...]
    first_at: datetime | None
    last_at: datetime | None
    zone: str
    clock: str
    names: dict[str, dict[str, int]]
    first_rows: dict[str, list[dict[str, Any]]]

    def summary(self) -> dict[str, Any]:
        """For programs."""
        return {
            **{name: value for name, value in vars(self).items() if name != "first_rows"},
            "first_rows": {
                table: [{name: _plain(value) for name, value in row.items()} for row in rows]
                for table, rows in self.first_rows.items()
            },
        }

    def text(self) -> str:
        """For people; control characters of the data are shown, not sent to the terminal."""
        span = "no times" if self.first_at is None else f"{self.first_at:%F %T}Z to {self.last_at:%F %T}Z"
        lines = [
            f"{printable(self.path)}",
            f"  is      {self.format if self.kind != 'skipped' else 'skipped'} ({printable(self.reason)})",
        ]
        if self.runner_up:
            lines.append(f"  next    {printable(self.runner_up)}, by lines among the first {LINES}")
        if self.kind not in {"skipped", "log_format"}:
            lines.append(f"  holds   {self.rows:,} rows, {self.rejects:,} rejects, {span}")
        if self.zone:
            lines.append(f"  zone    {self.zone}, where times are written without one (--tz)")
        if self.clock:
            lines.append(f"  times   from {self.clock}")
        for column, of in self.names.items():
            used = ", ".join(f"{printable(name)} ({rows:,})" for name, rows in of.items())
            lines.append(f"  name    {column} from {used}")
        lines += [f"  reject  {printable(reason)}" for reason in self.reasons]
        for table, rows in self.first_rows.items():
            for row in rows:
                known = {name: value for name, value in row.items() if value is not None}
                lines.append(f"  {table:<7} {printable(', '.join(f'{k}={v}' for k, v in known.items()))}")
        return "\n".join(lines)


def inspect(settings: Settings) -> Iterator[Inspected]:
    """Every file of the inputs; each is read whole, in batches.

    raises   InputError for what cannot be read; and, after the last file, for the first that is taken for
             telemetry and holds no row
    """
    empty = []
    for file in found_files(settings):
        found = _inspected(file, told(settings))
        yield found
        if is_without_rows(file, found.rows):
            empty.append(no_row(file, found.reasons[0] if found.reasons else ""))
    if empty:
        raise empty[0]


def formats(own: str | None) -> tuple[dict[str, str], ...]:
    """The formats known, and those in the user's folder."""
    added = () if own is None else registry.own_formats(Path(own))
    return tuple({"format": one.name, "reads": one.kind, "title": one.title} for one in registry.known(added))


def found_files(settings: Settings) -> Sequence[find.Found]:
    """Every file of the inputs, and what it is; raises as find.survey and registry.own_formats do."""
    own = () if settings.formats is None else registry.own_formats(Path(settings.formats))
    return find.survey(settings.inputs, own)


def told(settings: Settings) -> Told:
    """What the user says of times that files leave out."""
    start = None if settings.start is None else instant(settings.start, settings.timezone, "--start")
    return Told(start, settings.every_s, settings.timezone)


def _inspected(file: find.Found, told: Told) -> Inspected:
    rows = rejects = 0
    clock = ""
    reasons: list[str] = []
    first: datetime | None = None
    last: datetime | None = None
    shown: dict[str, list[dict[str, Any]]] = {}
    used: Counter[tuple[str, str]] = Counter()
    for batch in registry.read(file, told):
        rows, rejects = rows + batch.stored, rejects + batch.rejects.height
        clock = clock or batch.clock
        used.update(batch.names)
        reasons += [
            f"line {line}: {reason}"
            for line, reason in batch.rejects.head(_SHOWN - len(reasons)).select("line", "reason").iter_rows()
        ]
        for table, frame in batch.rows.items():
            if frame.height and table not in shown:
                shown[table] = frame.head(_SHOWN).to_dicts()
            begins, ends = stretch(frame)
            if begins is not None and ends is not None:
                first, last = min(first or begins, begins), max(last or ends, ends)
    return Inspected(
        file.shown,
        file.kind,
        file.format,
        file.reason,
        file.runner_up,
        rows,
        rejects,
        tuple(reasons),
        first,
        last,
        told.timezone if registry.is_zone_told(file) else "",
        clock,
        _by_column(used),
        shown,
    )


def _by_column(used: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    names: dict[str, dict[str, int]] = {}
    for (column, name), rows in sorted(used.items()):
        names.setdefault(column, {})[name] = rows
    return names


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, (bool, int, float, str, list)) else str(value)

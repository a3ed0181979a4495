"""What was the course of an incident? The numbers behind a chart, whoever draws it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import polars as pl

from tracemortem.errors import DefinitionError
from tracemortem.incident import Incident
from tracemortem.report.sections import Chart, Panel

_LEAST_AROUND = timedelta(minutes=30)
_MINUTE_MS = 60_000.0
_ROOM_FOR_A_NUMBER = 0.02  # of the width of the time axis

Floats = npt.NDArray[np.float64]
Chosen = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Line:
    """One signal. values: one for each minute of the course, NaN where nothing was measured."""

    name: str
    values: Floats


@dataclass(frozen=True)
class Strip:
    """One panel with what it shows. baseline: what the incident is measured against, if drawn."""

    title: str
    unit: str
    height: int
    lines: tuple[Line, ...]
    baseline: float | None


@dataclass(frozen=True)
class Mark:
    """Something that happened at a time. kind: onset, mitigation or event. number: as in the timeline."""

    kind: str
    at: datetime
    until: datetime | None
    number: int | None
    text: str


@dataclass(frozen=True)
class Course:
    """minutes: milliseconds since 1970 UTC, without gaps; the incident is [start, end)."""

    minutes: Floats
    strips: tuple[Strip, ...]
    marks: tuple[Mark, ...]
    start: datetime
    end: datetime


@dataclass(frozen=True)
class Summary:
    """One signal in three numbers.

    title      of its panel; name is its own
    is_alone   the panel has no other
    before     the median of the minutes before the onset; during: of those in the incident
    extreme    the value in the incident that is farthest from before
    """

    title: str
    name: str
    is_alone: bool
    unit: str
    before: float | None
    during: float | None
    extreme: float | None
    extreme_at: datetime | None


def course(chart: Chart, incident: Incident, rows: Mapping[str, pl.DataFrame]) -> Course | None:
    """The incident, and what came before and after it, on one axis of minutes.

    rows     the frames of the chart's panels; columns as the chart declares, the time column UTC datetimes
    returns  None if no panel has a value
    raises   DefinitionError if a frame or a column is missing

    Before and after it, twice its length is shown, but at least 30 minutes: enough to see what was usual.
    """
    cut = {panel.frame: _cut(chart, panel, incident, rows) for panel in chart.panels}
    times = pl.concat([frame.get_column(chart.over) for frame in cut.values()])
    first, last = times.min(), times.max()
    if not isinstance(first, datetime) or not isinstance(last, datetime):
        return None
    grid = pl.DataFrame({chart.over: pl.datetime_range(first, last, "1m", eager=True)})
    strips = [
        _strip(panel, incident, grid.join(cut[panel.frame], on=chart.over, how="left", maintain_order="left"))
        for panel in chart.panels
    ]
    if not any(strip.lines for strip in strips):
        return None
    return Course(
        minutes=grid.get_column(chart.over).dt.epoch("ms").to_numpy().astype(np.float64),
        strips=tuple(strip for strip in strips if strip.lines),
        marks=tuple(mark for mark in _marks(incident) if first <= mark.at <= last + timedelta(minutes=1)),
        start=incident.start,
        end=incident.end or last + timedelta(minutes=1),
    )


def digest(course: Course, incident: Incident) -> tuple[Summary, ...]:
    """Every signal of a course in three numbers, in the order of the panels."""
    onset = incident.onset_earliest.timestamp() * 1000
    before = course.minutes + _MINUTE_MS <= onset
    during = (course.minutes >= milliseconds(course.start)) & (course.minutes < milliseconds(course.end))
    return tuple(
        _summary(strip, line, course.minutes, before, during)
        for strip in course.strips
        for line in strip.lines
    )


def numbered(course: Course) -> Iterator[tuple[Mark, bool]]:
    """The events, each with whether there is room for its number beside that of the one before."""
    free_from = -math.inf
    for mark in course.marks:
        if mark.kind == "event":
            at = milliseconds(mark.at)
            is_free = at >= free_from
            if is_free:
                free_from = at + _ROOM_FOR_A_NUMBER * (course.minutes[-1] - course.minutes[0])
            yield mark, is_free


def milliseconds(at: datetime) -> float:
    """Milliseconds since 1970 UTC."""
    return at.timestamp() * 1000


def rows_of(rows: Mapping[str, pl.DataFrame], name: str, incident: Incident | None) -> pl.DataFrame:
    """A frame by its name; of one that has rows for each incident, the incident's own.

    raises   DefinitionError if nobody gave it
    """
    if name not in rows:
        raise DefinitionError(
            f"the report has no rows called {name!r}",
            where="postmortem.yaml",
            why=f"given were {', '.join(sorted(rows)) or 'none'}",
            fix=f"add sql/report/{name}.sql, or take the name out of postmortem.yaml",
        )
    frame = rows[name]
    if incident is None or "incident_id" not in frame.columns:
        return frame
    return frame.filter(pl.col("incident_id") == incident.id)


def _cut(chart: Chart, panel: Panel, incident: Incident, rows: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The panel's frame around the incident: whole minutes in UTC, each once."""
    frame = rows_of(rows, panel.frame, incident)
    missing = [column for column in (chart.over, *panel.lines) if column not in frame.columns]
    if missing:
        raise DefinitionError(
            f"the rows {panel.frame!r} have no column {missing[0]!r}",
            where=f"postmortem.yaml, panel {panel.title!r}",
            why=f"they have {', '.join(frame.columns)}",
            fix="correct the panel's lines, or the SQL",
        )
    minute = pl.col(chart.over).cast(pl.Datetime("us", "UTC")).dt.truncate("1m")
    length = incident.end - incident.start if incident.end else timedelta(0)
    around = max(_LEAST_AROUND, 2 * length)
    shown = pl.col(chart.over) >= incident.onset_earliest - around
    if incident.end:
        shown &= pl.col(chart.over) < incident.end + around
    return frame.with_columns(minute).filter(shown).unique(chart.over, keep="first", maintain_order=True)


def _strip(panel: Panel, incident: Incident, on_grid: pl.DataFrame) -> Strip:
    columns = {column: on_grid.get_column(column).cast(pl.Float64) for column in panel.lines}
    return Strip(
        title=panel.title,
        unit=panel.unit,
        height=panel.height,
        lines=tuple(
            Line(panel.lines[column], values.fill_null(float("nan")).to_numpy())
            for column, values in columns.items()
            if values.is_not_null().any()
        ),
        baseline=incident.baseline if panel.has_baseline else None,
    )


def _marks(incident: Incident) -> tuple[Mark, ...]:
    onset = Mark("onset", incident.onset_earliest, incident.onset_latest, None, "")
    actions = [Mark("mitigation", action.at, None, None, action.text) for action in incident.mitigation]
    events = [
        Mark("event", entry.at, entry.at_latest, number, entry.text)
        for number, entry in enumerate(incident.timeline, start=1)
    ]
    return (onset, *actions, *events)


def _summary(strip: Strip, line: Line, minutes: Floats, before: Chosen, during: Chosen) -> Summary:
    usual = _median(line.values[before])
    inside = np.where(during & np.isfinite(line.values), line.values, np.nan)
    extreme, extreme_at = None, None
    if usual is not None and np.isfinite(inside).any():
        place = int(np.nanargmax(np.abs(inside - usual)))
        extreme = float(inside[place])
        extreme_at = datetime.fromtimestamp(minutes[place] / 1000, UTC)
    return Summary(
        title=strip.title,
        name=line.name,
        is_alone=len(strip.lines) == 1,
        unit=strip.unit,
        before=usual,
        during=_median(inside),
        extreme=extreme,
        extreme_at=extreme_at,
    )


def _median(values: Floats) -> float | None:
    measured = values[np.isfinite(values)]
    return float(np.median(measured)) if measured.size else None

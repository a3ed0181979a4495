"""Which days had incidents, which were quiet, and what was each? One HTML page that lists all of them."""

from calendar import Calendar
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import zip_longest
from zoneinfo import ZoneInfo

import polars as pl
from markupsafe import Markup

from tracemortem.folders import folder
from tracemortem.incident import Cause, Diagnosis, Incident
from tracemortem.report.course import course
from tracemortem.report.drawing import sparkline
from tracemortem.report.escaping import visible
from tracemortem.report.pages import hashed, templates
from tracemortem.report.quantities import quantity, span
from tracemortem.report.sections import Chart, Panel, found, words

_P99 = Panel("P99", "latency_course", "s", {"p99_s": "P99"}, has_baseline=True, height=1)
_LATENCY = Chart(over="minute", panels=(_P99,))
_MONTHS_OPEN = 6  # of the calendar; older ones are folded

Words = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Day:
    """A day in the time zone of the diagnosis from which there is input.

    hours   how many of its hours have a request whose latency was looked at
    """

    date: date
    hours: int


@dataclass(frozen=True)
class Listed:
    """An incident and where its report lies: a relative address without anything of the data in it."""

    incident: Incident
    href: str


def index(
    diagnosis: Diagnosis,
    days: Sequence[Day],
    listed: Sequence[Listed],
    rows: Mapping[str, pl.DataFrame],
    *,
    unread: int,
    product_version: str,
    created_at: datetime,
) -> bytes:
    """The page of all days and incidents, the newest first. The same arguments give the same bytes.

    days     in any order, each once
    listed   every incident of the diagnosis, or those to be shown
    rows     latency_course: incident_id, minute (UTC), p99_s
    unread   files that were loaded after the diagnosis was made
    """
    folders = (folder("reports"),)
    language = words(folders)
    zone = ZoneInfo(diagnosis.timezone)
    newest = sorted(listed, key=lambda one: (one.incident.start, one.incident.id), reverse=True)
    entries = [_entry(place, one, rows, zone, language) for place, one in enumerate(newest, start=1)]
    groups = [
        (status, own)
        for status in ("confirmed", "candidate")
        if (own := [entry for entry in entries if entry["status"] == status])
    ]
    months = _months(days, newest, zone, language["site"])
    script = found(folders, "site.js").read_text(encoding="utf-8")
    style = "".join(found(folders, name).read_text(encoding="utf-8") for name in ("page.css", "site.css"))
    return (
        templates(folders)
        .get_template("site.html.j2")
        .render(
            words=language,
            script_hash=Markup(f"'{hashed(script)}'"),
            css=Markup(style),
            script=Markup(script),
            zone=diagnosis.timezone,
            days=days,
            groups=groups,
            months=months[:_MONTHS_OPEN],
            older=months[_MONTHS_OPEN:],
            choices=_choices(newest, language),
            unread=unread,
            product_version=product_version,
            created_at=f"{created_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
        )
        .encode()
    )


def _entry(
    place: int, one: Listed, rows: Mapping[str, pl.DataFrame], zone: ZoneInfo, language: Words
) -> dict[str, object]:
    """One line of the list. place: of the incident in it, by which the calendar's links find it."""
    incident, unit = one.incident, language["unit"]
    drawn = course(_LATENCY, incident, rows)
    levels = [
        language["page"]["not_known"] if value is None else quantity(value, "s", unit, beside=other)
        for value, other in ((incident.baseline, incident.peak), (incident.peak, incident.baseline))
    ]
    return {
        "fragment": f"incident-{place}",
        "href": one.href,
        "status": incident.status,
        "service": visible(incident.service),
        "since": incident.start.astimezone(UTC).isoformat(),
        "when": _when(incident, zone),
        "in_utc": "" if _is_utc(zone) else f"{_when(incident, ZoneInfo('UTC'))} UTC",
        "lasted": span((incident.end - incident.start).total_seconds(), unit) if incident.end else "",
        "baseline": levels[0],
        "peak": levels[1],
        "causes": [(_kind(cause.kind, language), cause.verdict) for cause in _primary(incident)],
        "kinds": " ".join(_kinds(incident)),
        "reason": visible(incident.reason[:1].upper() + incident.reason[1:]),
        "picture": Markup(sparkline(drawn, f"P99: {levels[0]} → {levels[1]}")) if drawn else "",
    }


def _primary(incident: Incident) -> list[Cause]:
    return [cause for cause in incident.causes if cause.role == "primary"]


def _kinds(incident: Incident) -> list[str]:
    """What it is to be found by; a confirmed incident whose cause is not found is `unknown`."""
    found = [cause.kind for cause in _primary(incident)]
    return found or (["unknown"] if incident.status == "confirmed" else [])


def _kind(kind: str, language: Words) -> str:
    return language["kind"].get(kind, kind.replace("_", " "))


def _choices(listed: Sequence[Listed], language: Words) -> list[tuple[str, list[tuple[str, str]]]]:
    """For each filter the values that occur, each as the list has it and as people read it."""
    incidents = [one.incident for one in listed]
    kinds = {kind for incident in incidents for kind in _kinds(incident)}
    said = {kind: _kind(kind, language) for kind in kinds}
    return [
        ("service", [(name, name) for name in sorted({visible(one.service) for one in incidents})]),
        ("cause", sorted(said.items(), key=lambda pair: pair[1])),
        (
            "status",
            [
                (status, language["site"][status])
                for status in ("confirmed", "candidate")
                if any(one.status == status for one in incidents)
            ],
        ),
    ]


def _months(
    days: Sequence[Day], newest: Sequence[Listed], zone: ZoneInfo, said: Mapping[str, str]
) -> list[dict[str, object]]:
    """The months with input, newest first; each says whether months without any lie before the next."""
    by_date = {day.date: day for day in days}
    touched: dict[date, list[tuple[int, Incident]]] = {}
    for place, one in enumerate(newest, start=1):
        for each in _touched(one.incident, max(by_date, default=None), zone):
            touched.setdefault(each, []).append((place, one.incident))
    months = sorted({each.replace(day=1) for each in (*by_date, *touched)}, reverse=True)
    return [
        {
            "name": f"{month:%Y-%m}",
            "weeks": [
                [_cell(each, month, by_date.get(each), touched.get(each, []), said) for each in week]
                for week in Calendar().monthdatescalendar(month.year, month.month)
            ],
            "gap": _months_between(month, before) if before else 0,
        }
        for month, before in zip_longest(months, months[1:])
    ]


def _months_between(later: date, earlier: date) -> int:
    return (later.year - earlier.year) * 12 + later.month - earlier.month - 1


def _touched(incident: Incident, last: date | None, zone: ZoneInfo) -> Iterator[date]:
    """The days that an incident lies on; one that goes on lies on all that follow."""
    first = incident.start.astimezone(zone).date()
    if incident.end:
        final = (incident.end - timedelta(microseconds=1)).astimezone(zone).date()
    else:
        final = last or first
    for count in range(max((final - first).days, 0) + 1):
        yield first + timedelta(days=count)


def _cell(
    each: date,
    month: date,
    day: Day | None,
    touching: Sequence[tuple[int, Incident]],
    said: Mapping[str, str],
) -> dict[str, object] | None:
    """A day of the calendar; None for one that belongs to the month before or after."""
    if each.month != month.month:
        return None
    confirmed = [(place, one) for place, one in touching if one.status == "confirmed"]
    if confirmed:
        state = "confirmed"
    elif touching:
        state = "candidate"
    elif day is None:
        state = "none"
    else:
        state = "quiet" if day.hours else "unjudged"
    shown = confirmed or touching
    return {
        "date": each.isoformat(),
        "number": each.day,
        "state": state,
        "count": len(shown),
        "hours": day.hours if day else 0,
        # the list is newest first, so the day's earliest is the last of them
        "href": f"#incident-{shown[-1][0]}" if shown else "",
        "said": said[f"day_{state}"],
    }


def _when(incident: Incident, zone: ZoneInfo) -> str:
    """`2026-04-24 02:17–02:41`, with both dates where they differ; the zone is said elsewhere."""
    start = incident.start.astimezone(zone)
    if incident.end is None:
        return f"{start:%Y-%m-%d %H:%M}–"
    end = incident.end.astimezone(zone)
    until = f"{end:%H:%M}" if end.date() == start.date() else f" {end:%Y-%m-%d %H:%M}"
    return f"{start:%Y-%m-%d %H:%M}–{until}"


def _is_utc(zone: ZoneInfo) -> bool:
    return zone.key in {"UTC", "Etc/UTC"}

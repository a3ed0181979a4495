"""What does a day look like to people and programs? daily.json, daily.md and daily.html."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from tracemortem.folders import folder
from tracemortem.incident import Incident, QualityCheck
from tracemortem.report.course import rows_of
from tracemortem.report.document import checked, encoded, instant, plain
from tracemortem.report.pages import Part, markdown, page
from tracemortem.report.prose import environment, rendered
from tracemortem.report.put import put
from tracemortem.report.sections import sections, words

DECLARED = "daily.yaml"
SCHEMA = "tracemortem.daily/1"
_BLOCKS = "▁▂▃▄▅▆▇█"
_UNITS = {"_s": "s", "_ratio": "ratio", "_mhz": "MHz", "_per_minute": "1/min", "_per_s": "1/s"}


@dataclass(frozen=True)
class DayReported:
    """A day in UTC, from start to end.

    incidents    that touch it, candidates included
    least_days   so many quiet days alike must be known before a day is called unusual
    objective_s  what the P99 is to stay under; None: nothing is promised
    timezone     of the people who read
    """

    start: datetime
    end: datetime
    incidents: tuple[Incident, ...]
    quality: tuple[QualityCheck, ...]
    least_days: int
    objective_s: float | None
    timezone: str


def write_day(
    day: DayReported,
    rows: Mapping[str, pl.DataFrame],
    out: Path,
    *,
    product_version: str,
    created_at: datetime,
    templates: Sequence[Path] = (),
) -> list[Path]:
    """Write daily.json, daily.md and daily.html into the folder `out`, beside the report of its incidents.

    rows       frame name -> rows, for every frame daily.yaml names
    templates  folders whose files go before the product's own
    returns    the three paths
    raises     DefinitionError for a faulty template or declaration, or a missing frame
    """
    folders = (*templates, folder("reports"))
    language = words(folders)
    shown = {
        name: [_with_course(row) for row in rows_of(rows, name, None).to_dicts()]
        for section in sections(folders, DECLARED)
        for name in section.frames
    }
    context = {
        "day": day,
        "confirmed": [one for one in day.incidents if one.status == "confirmed"],
        "candidates": [one for one in day.incidents if one.status != "confirmed"],
        "unusual": unusual(shown),
        "rows": shown,
        "product_version": product_version,
        "created_at": created_at,
    }
    made = environment(folders, language, zone=day.timezone, headings={})
    made.filters["figure_unit"] = unit
    parts = [Part(name="headline", level=1, title=rendered(made, "day_title.md.j2", context), text="")]
    for section in sections(folders, DECLARED):
        text = rendered(made, section.template, context)
        if text:
            parts.append(
                Part(name=section.name, level=2, title=section.title, text=text, is_folded=section.is_folded)
            )
    files = {
        "daily.json": encoded(
            checked(_document(day, shown, product_version, created_at), "daily.schema.json")
        ),
        "daily.md": markdown(parts).encode(),
        "daily.html": page(parts, folders, words=language, written={}).encode(),
    }
    out.mkdir(parents=True, exist_ok=True)
    put(files, out)
    return [out / name for name in files]


def unusual(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[Mapping[str, Any]]]:
    """Of each frame what somebody should look at, figures by surprise and by how much they changed."""
    return {
        "figures": sorted(
            (row for row in rows["day_figure"] if row["is_unusual"]), key=_weight, reverse=True
        ),
        "sources": [row for row in rows["day_source"] if row["change"]],
        "reporters": [row for row in rows["day_reporter"] if row["change"]],
    }


def unit(figure: str) -> str:
    """Of a figure by its name."""
    return next((unit for end, unit in _UNITS.items() if figure.endswith(end)), "count")


def _weight(row: Mapping[str, Any]) -> tuple[float, str, str]:
    """Surprise, as far as it is told apart, times the change: what moved far and matters comes first."""
    surprise = min(row["surprise"] if row["surprise"] is not None else math.inf, 20.0)
    change = abs(row["value"] - row["usual"]) / (abs(row["usual"]) or 1.0)
    return surprise * min(change, 10.0), row["service"], row["figure"]


def _with_course(row: dict[str, Any]) -> dict[str, Any]:
    """The same row; a course as a line of blocks beside its numbers, with a gap where a day is not known."""
    if row.get("course") is None:
        return row
    known = [value for value in row["course"] if value is not None]
    low, high = min(known), max(known)
    steps = (len(_BLOCKS) - 1) / (high - low) if high > low else 0.0
    line = "".join(
        " " if value is None else _BLOCKS[round((value - low) * steps)] for value in row["course"]
    ).lstrip()
    return row | {"line": line}


def _document(
    day: DayReported,
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    product_version: str,
    created_at: datetime,
) -> dict[str, Any]:
    found = unusual(rows)
    return {
        "schema": SCHEMA,
        "product_version": product_version,
        "created_at": instant(created_at),
        "day": f"{day.start:%Y-%m-%d}",
        "from": instant(day.start),
        "to": instant(day.end),
        "timezone": day.timezone,
        "objective_s": day.objective_s,
        "incidents": [
            plain(
                {
                    "id": one.id,
                    "service": one.service,
                    "status": one.status,
                    "start": one.start,
                    "end": one.end,
                    "baseline": one.baseline,
                    "peak": one.peak,
                    "causes": [f"{cause.kind} ({cause.verdict})" for cause in one.causes],
                    "report": "report.json",
                }
            )
            for one in day.incidents
        ],
        "unusual": {name: [_row(row) for row in of] for name, of in found.items()},
        "figures": [_row(row) for row in rows["day_figure"]],
        "weeks": [_row(row) for row in rows["day_week"]],
        "objective": [_row(row) for row in rows["day_objective"]],
        "quality": [plain(vars(check)) for check in day.quality if check.status != "ok"],
    }


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return plain({name: value for name, value in row.items() if name not in ("day", "line")})

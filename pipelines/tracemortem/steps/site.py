"""The incidents kept in a published file as a static site: a page of all days, and a report for each."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace as changed
from datetime import datetime

import orjson
import polars as pl

from tracemortem import __version__, folders
from tracemortem.incident import Diagnosis, Incident
from tracemortem.progress import stage
from tracemortem.report.render import html
from tracemortem.report.sections import frames, sections
from tracemortem.report.site import Day, Listed, index
from tracemortem.settings import Settings, instant, span, zone
from tracemortem.steps.asked import Asked
from tracemortem.steps.diagnosis import kept
from tracemortem.steps.render import methods
from tracemortem.steps.site_folder import PAGES, replaced, taken
from tracemortem.warehouse.ask import Published

_REPORTS = "reports"
_METHODS = "methods"  # the one frame that is no table
# Of a run that looked for incidents; one that only loads has no folder for a report.
_LAST_LOOK = "select settings from meta.run where settings->>'out' is not null order by run_id desc limit 1"
# Every quarter of an hour from which there is input, and whether latency was looked at in it: time zones are
# set apart from UTC by whole quarters.
_QUARTERS = """
    with input as (
        select minute, measured > 0 as is_judged from mart.latency_minute
        union all
        select minute, false from mart.engine_minute
        union all
        select minute, false from mart.gpu_minute
    )

    select
        time_bucket(interval 15 minute, minute) as quarter,
        bool_or(
            is_judged
            and minute >= coalesce($time_from, '-infinity'::timestamptz)
            and minute < coalesce($time_to, 'infinity'::timestamptz)
        ) as is_judged
    from input
    group by quarter
    order by quarter
"""


def site(settings: Settings) -> str:
    """Write the site of the file settings.db, which is only read, into settings.out; returns its first page.

    raises   WarehouseError if the file cannot be read or holds no diagnosis, SettingError if the folder
             cannot be written to or holds something else
    """
    out = taken(settings)
    with Published(settings.published()) as asked, stage("site") as told:
        diagnosis = kept(asked)
        rows = _rows(asked)
        published_at = asked.frame("select published_at from meta.published").item()
        listed = [Listed(one, f"{PAGES}/{page_name(one)}") for one in diagnosis.incidents]
        first = index(
            diagnosis,
            tuple(_days(asked, diagnosis.timezone)),
            listed,
            rows,
            unread=_unread(asked, diagnosis),
            product_version=__version__,
            created_at=published_at,
        )
        names = [page_name(one) for one in diagnosis.incidents]
        pages = (_page(diagnosis, one, rows, published_at) for one in diagnosis.incidents)
        written = replaced(out, first, names, pages)
        told.advance(0, len(names))
    return str(written)


def page_name(incident: Incident) -> str:
    """The name of an incident's page: unlike any other's, and harmless whatever the service is called."""
    readable = re.sub(r"[^a-z0-9]+", "-", incident.id.lower()).strip("-")[:60]
    return f"{readable}-{hashlib.sha256(incident.id.encode()).hexdigest()[:16]}.html"


def _page(
    diagnosis: Diagnosis, incident: Incident, rows: Mapping[str, pl.DataFrame], published_at: datetime
) -> bytes:
    alone = changed(diagnosis, incidents=(incident,))
    if incident.status != "confirmed":  # of all that was looked at, nothing is said on this page
        alone = changed(alone, window_from=incident.start, window_to=incident.end or diagnosis.window_to)
    return html(alone, rows, product_version=__version__, created_at=published_at, home="../index.html")


def _rows(asked: Asked) -> dict[str, pl.DataFrame]:
    """Every frame of the report, as the run that looked for incidents left them."""
    wanted = frames(sections((folders.folder(_REPORTS),)))
    sql = folders.folder("sql")
    return {name: methods(sql) if name == _METHODS else asked.frame(f"from report.{name}") for name in wanted}


def _days(asked: Asked, timezone: str) -> Iterator[Day]:
    quarters = asked.frame(_QUARTERS, _looked_at(asked)).with_columns(
        pl.col("quarter").dt.convert_time_zone(zone(timezone).key)
    )
    judged = pl.col("quarter").filter("is_judged").dt.truncate("1h").n_unique()
    days = quarters.group_by(pl.col("quarter").dt.date().alias("date")).agg(judged.alias("hours"))
    for row in days.sort("date").iter_rows(named=True):
        yield Day(row["date"], row["hours"])


def _looked_at(asked: Asked) -> dict[str, datetime | None]:
    """The bounds that the last run that looked for incidents was told."""
    run = asked.frame(_LAST_LOOK)
    if not run.height:
        return {"time_from": None, "time_to": None}
    told = orjson.loads(run.item())
    if told["window"]:
        begins, ends = span(told["window"], told["timezone"])
        return {"time_from": begins, "time_to": ends}
    return {
        name: instant(told[name], told["timezone"], name) if told[name] else None
        for name in ("time_from", "time_to")
    }


def _unread(asked: Asked, diagnosis: Diagnosis) -> int:
    """How many files were loaded since the diagnosis was made."""
    known = {found.sha256 for found in diagnosis.inputs}
    loaded = asked.frame("select sha256 from meta.input where kind <> 'skipped'")
    return sum(one not in known for one in loaded.to_series())

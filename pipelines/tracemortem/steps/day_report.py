"""The report of a day, beside that of its incidents."""

from pathlib import Path

from tracemortem import __version__, folders
from tracemortem import settings as options
from tracemortem.errors import SettingError
from tracemortem.progress import stage
from tracemortem.report.day import DECLARED, DayReported, write_day
from tracemortem.report.sections import frames, sections
from tracemortem.settings import Settings
from tracemortem.steps import opened
from tracemortem.steps.diagnosis import kept


def day_report(settings: Settings) -> str:
    """Write daily.json, daily.md and daily.html of settings.day; returns the path of the last.

    raises   SettingError if they cannot be written
    """
    start, end = options.day_bounds(settings.day or "")
    out = Path(settings.out or "")
    with opened.store(settings) as store, stage("report of the day"):
        wanted = frames(sections((folders.folder("reports"),), DECLARED))
        found = kept(store)
        day = DayReported(
            start=start,
            end=end,
            incidents=found.incidents,
            quality=found.quality,
            least_days=int(opened.values(settings)["day_least_days"]),
            objective_s=None if settings.objective is None else options.objective_s(settings.objective),
            timezone=settings.timezone,
        )
        try:
            made = write_day(
                day,
                {name: store.frame(f"from report.{name}") for name in wanted},
                out,
                product_version=__version__,
                created_at=opened.now(),
            )
        except OSError as error:
            raise SettingError(
                "the report of the day cannot be written",
                where=str(error.filename or out),
                why=error.strerror or str(error),
                fix="make room or give the right to write there, or name another --out",
            ) from error
    return str(made[-1])

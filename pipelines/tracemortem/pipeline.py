"""THE composition: files -> raw -> norm, mart -> incidents -> evidence -> report -> published file.

Of a warehouse of many days the same once a day, of the records of that day and those before it.

It exists once. The command line calls it plainly; a Prefect flow calls it with `step` making tasks.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

from tracemortem.settings import Settings
from tracemortem.steps import answer, look
from tracemortem.steps.annotations import annotate
from tracemortem.steps.day_report import day_report
from tracemortem.steps.days import cut, due, forget, of_day, put_away, refuse_warehouse, retain
from tracemortem.steps.detect import detect
from tracemortem.steps.explain import explain
from tracemortem.steps.load import load
from tracemortem.steps.model import model
from tracemortem.steps.place import taken
from tracemortem.steps.publish import discard, export, publish
from tracemortem.steps.render import render
from tracemortem.steps.replay import replay
from tracemortem.steps.site import site as write_site
from tracemortem.steps.tell import tell
from tracemortem.steps.what_if import asked_for, what_if
from tracemortem.steps.written import check, set_aside
from tracemortem.warehouse import ask

__all__ = [
    "Outcome",
    "Settings",
    "daily",
    "formats",
    "ingest",
    "inspect",
    "policies",
    "postmortem",
    "query",
    "site",
]

P = ParamSpec("P")
R = TypeVar("R")


class Step(Protocol):
    """Makes of a function what runs it: the function itself, or a task."""

    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]:
        """The function, or something that is called like it."""


def plain(function: Callable[P, R], /) -> Callable[P, R]:
    """The function itself."""
    return function


@dataclass(frozen=True)
class Outcome:
    """What a run made.

    rejected_share  of all records read, 0 to 1
    requests        in the DuckDB file
    confirmed       incidents; None if the run looks for none
    lines           the summary for people, a sentence a line
    report          report.html; None if the run writes none
    warnings        what somebody should know, a sentence each
    """

    rejected_share: float
    requests: int
    confirmed: int | None
    lines: tuple[str, ...]
    database: str
    report: str | None
    warnings: tuple[str, ...] = ()

    def text(self) -> str:
        """For people."""
        report = () if self.report is None else (f"Report: {self.report}",)
        return "\n".join((*self.lines, *report, f"Tables: {self.database}"))

    def summary(self) -> dict[str, Any]:
        """For programs."""
        return {
            "requests": self.requests,
            "incidents_confirmed": self.confirmed,
            "rejected_share": self.rejected_share,
            "database": self.database,
            "report": self.report,
            "warnings": list(self.warnings),
        }


def ingest(settings: Settings, step: Step = plain) -> Outcome:
    """Load the inputs and build facts and minutes. Running it again on the same files changes nothing.

    raises   TracemortemError for what the user can mend
    """
    with taken(settings.checked()):
        refuse_warehouse(settings)
        rejected = step(load)(settings)
        requests = step(model)(settings)
        warnings = step(publish)(settings)
    return Outcome(
        rejected_share=rejected,
        requests=requests,
        confirmed=None,
        lines=(f"{requests:,} requests stand in the tables.",),
        database=str(settings.published()),
        report=None,
        warnings=warnings,
    )


def postmortem(settings: Settings, step: Step = plain) -> Outcome:
    """The main job: load, detect, explain, replay, report.

    raises   TracemortemError for what the user can mend
    """
    with taken(settings.checked()):
        discard(settings)  # what a run that was killed left behind
        try:
            step(annotate)(settings)  # first, as a mistake in that file is the user's to mend
            step(check)(settings)  # and so are damaged marks
            refuse_warehouse(settings)
            rejected = step(load)(settings)
            requests, confirmed, report, kept = _diagnosed(settings, step)
            lines = tell(settings)
            warnings = (*kept, *step(publish)(settings))
        finally:
            discard(settings)
    return Outcome(
        rejected_share=rejected,
        requests=requests,
        confirmed=confirmed,
        lines=lines,
        database=str(settings.published()),
        report=report,
        warnings=warnings,
    )


def daily(settings: Settings, step: Step = plain) -> Outcome:
    """Load new files, then report every day that is over and not yet reported, and publish all of them.

    Which days those are the warehouse itself tells, so whatever an earlier run missed is done by the next. A
    day of which records came in late is reported again, in the place of its earlier report.

    raises   TracemortemError for what the user can mend
    """
    requests, confirmed, told = 0, 0, []
    kept: tuple[str, ...] = ()
    report: str | None = None
    with taken(settings.checked()):
        step(annotate)(settings)
        rejected = step(load)(settings) if settings.inputs else 0.0
        for day in step(due)(settings):
            own = of_day(settings, day)
            step(check)(own)
            try:
                step(cut)(settings, day)
                found, incidents, _, aside = _diagnosed(own, step)
                report = step(day_report)(own)
                step(put_away)(settings, day)
            finally:
                forget(own)
            requests, confirmed, kept = requests + found, confirmed + incidents, (*kept, *aside)
            told.append(f"{day}: {incidents or 'no'} incident{'s' if incidents > 1 else ''} confirmed.")
        old = step(retain)(settings)
        warnings = (*kept, *old, *step(publish)(settings), *step(export)(settings))
    return Outcome(
        rejected_share=rejected,
        requests=requests,
        confirmed=confirmed,
        lines=tuple(told) or ("No day is to be reported: each that is over was, and nothing new came in.",),
        database=str(settings.published()),
        report=report,
        warnings=warnings,
    )


def _diagnosed(settings: Settings, step: Step) -> tuple[int, int, str, tuple[str, ...]]:
    """From raw tables to the report: requests, confirmed incidents, its path, and warnings."""
    requests = step(model)(settings)
    step(detect)(settings)
    confirmed = step(explain)(settings)
    step(replay)(settings)
    step(what_if)(settings)
    kept = step(set_aside)(settings)
    return requests, confirmed, step(render)(settings), kept


def inspect(settings: Settings) -> Iterator[look.Inspected]:
    """What each file is and holds, without loading it."""
    return look.inspect(settings.checked())


def formats(own: str | None = None) -> tuple[Mapping[str, str], ...]:
    """The formats known: format, reads (the kind of record) and title. own: the folder of the user's."""
    return look.formats(own)


def policies(
    settings: Settings, incident: str, own: Sequence[str] = (), step: Step = plain, *, as_json: bool = False
) -> str:
    """What policies would have done about an incident of the file settings.db, which is only read.

    own      YAML files of policies, tried instead of the product's
    raises   TracemortemError for what the user can mend
    """
    return step(asked_for)(settings.checked(), incident, tuple(own), as_json=as_json)


def site(settings: Settings, step: Step = plain) -> str:
    """The incidents of the file settings.db, which is only read, as a static site; returns its first page.

    raises   TracemortemError for what the user can mend
    """
    return step(write_site)(settings.checked())


def query(file: str, text: str, *, as_json: bool = False) -> str:
    """The rows of one read-only, locked-down query, as CSV with a header or an object a line.

    raises   WarehouseError if the file cannot be opened or the query is refused
    """
    rows = ask.sql(Path(file), text)
    return answer.json_lines(rows) if as_json else answer.csv(rows)

"""The diagnosis in a few lines, for whoever ran the command."""

from collections.abc import Iterator
from datetime import date, datetime

from tracemortem.incident import Diagnosis, Incident
from tracemortem.settings import Settings, zone
from tracemortem.steps import opened
from tracemortem.steps.detect import watched
from tracemortem.steps.diagnosis import kept

_CANDIDATES_TOLD = 3


def tell(settings: Settings) -> tuple[str, ...]:
    """Four lines or fewer for each confirmed incident, one for each of the nearest candidates if there is
    none, and one on the data.
    """
    with opened.store(settings) as store:
        return tuple(lines(kept(store), requests=watched(store, settings)))


def lines(found: Diagnosis, *, requests: int) -> Iterator[str]:
    """The same of a diagnosis. requests: how many there were to look at."""
    confirmed = [incident for incident in found.incidents if incident.status == "confirmed"]
    for incident in confirmed:
        yield from _incident(incident, found.timezone)
    if not requests:
        yield (
            "No request of known latency was found to look at; spans say it, and access logs whose format "
            "says how long a request took."
        )
    elif not confirmed:
        near = "; what came nearest:" if found.incidents else "."
        yield f"No incident is confirmed{near}"
        for incident in found.incidents[:_CANDIDATES_TOLD]:
            yield f"{_heading(incident, found.timezone)}: {incident.reason}."
    read = [file for file in found.inputs if file.kind != "skipped"]
    skipped = len(found.inputs) - len(read)
    left_out = f" ({skipped:,} more skipped)" if skipped else ""
    rows = sum(file.rows for file in read)
    rejects = sum(file.rejects for file in read)
    wrong = [check.check for check in found.quality if check.status != "ok"]
    doubts = f"; checks to look at: {', '.join(wrong)}" if wrong else ""
    yield (
        f"Data: {_counted(rows, 'row')} from {_counted(len(read), 'file')}{left_out}, "
        f"{rejects:,} rejected{doubts}."
    )


def _heading(incident: Incident, timezone: str) -> str:
    """Whose incident it is, and when."""
    until = ", still going on" if incident.end is None else f" to {_clock(incident.end, timezone)}"
    if incident.end is not None and _day(incident.end, timezone) != _day(incident.start, timezone):
        until = f" to {_clock(incident.end, timezone, with_day=True)}"
    return f"{incident.service}, {_clock(incident.start, timezone, with_day=True)}{until}"


def _incident(incident: Incident, timezone: str) -> Iterator[str]:
    slowed = incident.impact.requests_slowed
    yield (
        f"{_heading(incident, timezone)}: P99 went from {_seconds(incident.baseline)} to "
        f"{_seconds(incident.peak)}; {'not known how many' if slowed is None else f'{slowed:,}'} of "
        f"{_counted(incident.impact.requests, 'request')} slowed."
    )
    primary = [cause for cause in incident.causes if cause.role == "primary"]
    others = [cause.kind for cause in incident.causes if cause.role != "primary"]
    also = f"; contributing: {', '.join(others)}" if others else ""
    yield f"Cause: {', '.join(f'{cause.kind} ({cause.verdict})' for cause in primary)}{also}."
    culprits = [source.cidr for source in incident.sources if source.role == "culprit"]
    if culprits:
        yield f"From: {', '.join(culprits)}."
    done = [f"{_clock(step.at, timezone)} {step.text} ({step.status})" for step in incident.mitigation]
    if done:
        yield f"Mitigation: {'; '.join(done)}."


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _day(at: datetime, timezone: str) -> date:
    return at.astimezone(zone(timezone)).date()


def _seconds(value: float | None) -> str:
    return "not known" if value is None else f"{value:.2f} s"


def _clock(at: datetime, timezone: str, *, with_day: bool = False) -> str:
    return f"{at.astimezone(zone(timezone)):{'%Y-%m-%d %H:%M' if with_day else '%H:%M'}}"

"""The diagnosis in a few lines, for whoever ran the command."""

from collections.abc import Iterator
from datetime import datetime

from tracemortem.incident import Diagnosis, Incident
from tracemortem.settings import Settings, zone
from tracemortem.steps import opened
from tracemortem.steps.render import diagnosis


def tell(settings: Settings) -> tuple[str, ...]:
    """Five lines or fewer for each confirmed incident, one where there is none, and one on the data."""
    with opened.store(settings) as store:
        found = diagnosis(store)
    return tuple(_lines(found))


def _lines(found: Diagnosis) -> Iterator[str]:
    confirmed = [incident for incident in found.incidents if incident.status == "confirmed"]
    for incident in confirmed:
        yield from _incident(incident, found.timezone)
    if not confirmed:
        candidates = len(found.incidents)
        near = "" if not candidates else f"; {candidates} candidate{'s' * (candidates > 1)} fell short"
        yield f"No incident is confirmed{near}."
    rows = sum(file.rows for file in found.inputs)
    rejects = sum(file.rejects for file in found.inputs)
    wrong = [check.check for check in found.quality if check.status != "ok"]
    doubts = f"; checks to look at: {', '.join(wrong)}" if wrong else ""
    yield f"Data: {rows:,} rows from {len(found.inputs)} files, {rejects:,} rejected{doubts}."


def _incident(incident: Incident, timezone: str) -> Iterator[str]:
    until = "still going on" if incident.end is None else f"to {_clock(incident.end, timezone)}"
    yield (
        f"{incident.service}: P99 rose from {_seconds(incident.baseline)} to {_seconds(incident.peak)}, "
        f"{_clock(incident.start, timezone, with_day=True)} {until}; "
        f"{incident.impact.requests_slowed or 0:,} of {incident.impact.requests:,} requests slowed."
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


def _seconds(value: float | None) -> str:
    return "not known" if value is None else f"{value:.2f} s"


def _clock(at: datetime, timezone: str, *, with_day: bool = False) -> str:
    return f"{at.astimezone(zone(timezone)):{'%Y-%m-%d %H:%M' if with_day else '%H:%M'}}"

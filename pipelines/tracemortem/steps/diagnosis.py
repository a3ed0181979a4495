"""How the diagnosis passes from step to step: as JSON in meta.diagnosis."""

from dataclasses import replace as changed
from datetime import datetime

import polars as pl
from pydantic import TypeAdapter

from tracemortem.errors import WarehouseError
from tracemortem.incident import Diagnosis
from tracemortem.steps.asked import Asked
from tracemortem.warehouse.store import Store

_DIAGNOSIS = TypeAdapter(Diagnosis)


def dumped(diagnosis: Diagnosis) -> str:
    """As meta.diagnosis has it."""
    return _DIAGNOSIS.dump_json(diagnosis).decode()


def keep(store: Store, diagnosis: Diagnosis) -> None:
    """Put it in the place of the one before."""
    store.replace("meta.diagnosis", [pl.DataFrame({"diagnosis": [dumped(diagnosis)]})])


def merged(
    before: Diagnosis | None, day: Diagnosis, start: datetime, end: datetime
) -> tuple[Diagnosis, tuple[str, ...]]:
    """The diagnosis of all days, and the ids of the incidents that go from it.

    before      of the days told so far; None: of none
    day         of the day from start to end, which tells all incidents that touch it
    """
    if before is None:
        return day, ()
    again = {incident.id for incident in day.incidents}
    gone = tuple(
        incident.id
        for incident in before.incidents
        if incident.id in again or touches(incident.start, incident.end, start, end)
    )
    left = (incident for incident in before.incidents if incident.id not in gone)
    return changed(
        day,
        window_from=min(filter(None, (before.window_from, day.window_from)), default=None),
        window_to=max(filter(None, (before.window_to, day.window_to)), default=None),
        incidents=tuple(sorted((*left, *day.incidents), key=lambda one: (one.start, one.id))),
    ), gone


def touches(start: datetime, end: datetime | None, day_start: datetime, day_end: datetime) -> bool:
    """Whether a stretch, end None while it goes on, has a part in a day."""
    return start < day_end and (end is None or end > day_start)


def kept(asked: Asked) -> Diagnosis:
    """The diagnosis as it was kept, in the work file or in a published one.

    raises   WarehouseError where there is none, or one that another version kept
    """
    try:
        return _DIAGNOSIS.validate_json(asked.frame("select diagnosis from meta.diagnosis").item())
    except ValueError as error:
        raise WarehouseError(
            "there is no diagnosis that this version reads",
            where="meta.diagnosis",
            why="only files were ingested, or another version looked for incidents",
            fix="run `tracemortem postmortem` on the inputs with this version",
        ) from error

"""All that is tested of one incident, or of a quiet stretch in its place, adjusted as one family."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from tracemortem import folders
from tracemortem.explain.family import Family, family
from tracemortem.explain.movements import Compared, compared, read_courses
from tracemortem.explain.ranges import Ranges, ranges
from tracemortem.explain.segments import Shown, shown
from tracemortem.explain.signals import Signal
from tracemortem.incident import Spike
from tracemortem.steps import incident_rows as rows
from tracemortem.warehouse.store import Store


@dataclass(frozen=True)
class Gathered:
    """What was looked at, and the probabilities of all of it, adjusted together."""

    moves: tuple[Compared, ...]
    segments: Shown | None
    networks: Ranges | None
    family: Family


def gathered(
    store: Store,
    incident_id: str,
    spike: Spike,
    of_minutes: pl.DataFrame,
    measures: Mapping[str, Signal],
    rate: float,
) -> Gathered:
    """Everything that is tested of one row of raw.incident.

    of_minutes  mart.signal_minute of its service, in the order of signal and minute
    measures    its signals by name, as they were measured
    rate        the false discovery rate

    evidence.segment and evidence.source must hold it. They are not looked at where nothing rose: nobody is to
    blame for that and nobody suffered.
    """
    own = {"id": incident_id}
    moves = compared(read_courses(folders.definitions("explain", "movements.yaml")), of_minutes, spike)
    seen = shown(store.frame(rows.SEGMENTS, own)) if spike.has_risen else None
    networks = ranges(store.frame(rows.NETWORKS, own)) if spike.has_risen else None
    return Gathered(moves, seen, networks, family(measures, moves, seen, networks, rate))

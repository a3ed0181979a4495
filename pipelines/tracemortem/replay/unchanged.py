"""The requests that came after an incident, to a service that nobody has mended."""

from dataclasses import replace

import numpy as np

from tracemortem.replay.model import BIN_S, Model
from tracemortem.replay.recorded import Floats, Ints, Requests
from tracemortem.replay.resets import World, as_those


def unchanged(world: World, made: Requests, *, keeps_cache: bool) -> Floats:
    """The latency of each request, had the service stayed as it was in the incident; shape (n,).

    world        baseline and incident, calibrated
    made         the incident's requests and those after it, replicas numbered as in world, and beyond
    keeps_cache  whether they find in the cache what they did; else no more than in the incident
    returns      nan where a request fits into no engine

    Which requests come, and when, stays as it was recorded. What the service is made of does not: engines
    are as slow as they mostly were in the incident, those that did not answer in most of its minutes still
    do not, and time outside the engines is what requests as long had lost there.
    """
    there = _answering(world.made)
    replica = made.replica.copy()
    astray = ~np.isin(replica, there)
    replica[astray] = there[np.arange(int(astray.sum())) % len(there)]
    asked = replace(made, replica=replica, cached=made.cached if keeps_cache else _cached(made))
    model = _as_slow(world, int(made.last.max() // BIN_S) + 1)
    rest = as_those(made, made.rest, made.is_during, ~made.is_during)
    total: Floats = rest + model.times(asked)[:, 2] - made.arrival
    return total


def _answering(made: Requests) -> Ints:
    """The replicas that answered in most of the incident's minutes; all that did where none is so steady."""
    minute = (made.started[made.is_during] // 60).astype(np.int64)
    pairs = np.unique(np.column_stack((made.replica[made.is_during], minute)), axis=0)
    numbers, minutes = np.unique(pairs[:, 0], return_counts=True)
    steady: Ints = numbers[minutes > len(np.unique(minute)) / 2]
    return steady if len(steady) else numbers


def _as_slow(world: World, columns: int) -> Model:
    """The engines, from the incident's end on as slow as in the median of its five minutes."""
    slowness = world.model.slowness
    during = world.made.started[world.made.is_during]
    first, last = (int(at // BIN_S) for at in (during.min(), during.max()))
    stayed = np.median(slowness[:, first : last + 1], axis=1, keepdims=True)
    longer = np.repeat(stayed, max(columns, last + 1), axis=1)
    longer[:, : last + 1] = slowness[:, : last + 1]
    return replace(world.model, slowness=longer)


def _cached(made: Requests) -> Ints:
    """Of requests as long, no more cached than of that of the same rank in the incident."""
    share = as_those(made, made.cached / made.prompt, made.is_during, ~made.is_during)
    return np.minimum(made.cached, (share * made.prompt).astype(np.int64))

"""Factors put back to how they were before the incident, one at a time and together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracemortem.replay.model import Model
from tracemortem.replay.prefixes import Prefixes
from tracemortem.replay.recorded import Bools, Floats, Ints, Requests

_SEED = 1993  # the same input must give the same bytes
_KINDS = 10  # requests without which a length has nothing to be like


@dataclass(frozen=True)
class World:
    """Engines and the requests that come to them.

    rest     seconds of each latency that are not the engine's
    prefixes what of the prompts is the same, and what of it a cache of the engines' size holds; None where
             either is not known: then what is cached stays as it is, whoever is left out
    """

    model: Model
    made: Requests
    rest: Floats
    prefixes: Prefixes | None = None

    def total_s(self) -> Floats:
        """The latency that each request would have had."""
        total: Floats = self.rest + self.model.times(self.made)[:, 2] - self.made.arrival
        return total

    def without(self, dropped: Bools) -> "World":
        """The same, but some requests never came."""
        made, prefixes = self.made.only(~dropped), self.prefixes
        if prefixes is not None:
            found, prefixes = prefixes.found[~dropped], prefixes.only(~dropped, made)
            cached = np.clip(made.cached + prefixes.found - found, 0, made.prompt - 1)
            made = replace(made, cached=cached)
        return World(self.model, made, self.rest[~dropped], prefixes)


def undone(world: World, names: Sequence[str], long_tokens: float) -> World:
    """The world with these factors as they were before the incident."""
    for name in names:
        world = RESETS[name](world, long_tokens)
    return world


def _speed(world: World, _: float) -> World:
    return replace(world, model=world.model.sound())


def _cache(world: World, _: float) -> World:
    """Of each length of prompt as much cached as before, the best served still the best served.

    What was cached stays: who came with the incident may ask for the same more often than anybody before.
    """
    made = world.made
    share = as_those(made, made.cached / made.prompt, made.is_before, made.is_during)
    wanted = (share * made.prompt).astype(np.int64)
    wanted = wanted // world.model.limits.block * world.model.limits.block
    return replace(world, made=replace(made, cached=np.clip(wanted, made.cached, made.prompt - 1)))


def _long(world: World, long_tokens: float) -> World:
    """As many long prompts of each length a minute as before."""
    kind = _lengths(world.made)
    for one in np.unique(kind[world.made.prompt >= long_tokens]):
        made = world.made
        world = _thinned(world, (made.prompt >= long_tokens) & (_lengths(made) == one))
    return world


def _traffic(world: World, _: float) -> World:
    """As many requests a minute as before."""
    return _thinned(world, np.ones(len(world.made.prompt), dtype=bool))


def _outputs(world: World, _: float) -> World:
    """Answers not longer than those of the same rank before."""
    made = world.made
    output = made.output.copy()
    wanted = np.quantile(made.output[made.is_before], _ranks(made.output[made.is_during]))
    output[made.is_during] = np.minimum(output[made.is_during], np.maximum(wanted, 1).astype(np.int64))
    return replace(world, made=replace(made, output=output))


def _mix(world: World, _: float) -> World:
    """Requests as they were before, each drawn from the baseline; when they come stays."""
    made = world.made
    drawn = np.random.default_rng(_SEED).choice(np.flatnonzero(made.is_before), int(made.is_during.sum()))
    prompt, cached, output = made.prompt.copy(), made.cached.copy(), made.output.copy()
    for values in (prompt, cached, output):
        values[made.is_during] = values[drawn]
    return replace(world, made=replace(made, prompt=prompt, cached=cached, output=output))


def _replicas(world: World, _: float) -> World:
    """All the replicas that answered before, in turn."""
    made = world.made
    there = np.unique(made.replica[made.is_before])
    replica = made.replica.copy()
    replica[made.is_during] = there[np.arange(int(made.is_during.sum())) % len(there)]
    return replace(world, made=replace(made, replica=replica))


def _front(world: World, _: float) -> World:
    """Time outside the engine as that of the same rank before."""
    during = world.made.is_during
    rest = world.rest.copy()
    rest[during] = np.quantile(rest[world.made.is_before], _ranks(rest[during]))
    return replace(world, rest=rest)


RESETS: Mapping[str, Callable[[World, float], World]] = {
    "speed": _speed,
    "cache": _cache,
    "long": _long,
    "outputs": _outputs,
    "mix": _mix,
    "traffic": _traffic,
    "replicas": _replicas,
    "front": _front,
}


def _thinned(world: World, which: Bools) -> World:
    """As many of these a second in the incident as in the baseline, evenly taken away."""
    made = world.made
    before, during = made.is_before & which, np.flatnonzero(made.is_during & which)
    wanted = before.sum() / _span(made.started[made.is_before]) * _span(made.started[made.is_during])
    dropped = np.zeros(len(which), dtype=bool)
    if wanted < len(during):
        share = wanted / len(during)
        place = np.arange(len(during))
        dropped[during[np.floor((place + 1) * share) == np.floor(place * share)]] = True
    return world.without(dropped)


def as_those(made: Requests, values: Floats, those: Bools, these: Bools) -> Floats:
    """The values, of these requests those of the same rank among those as long; shape (n,).

    Lengths of which there are fewer than _KINDS of those keep what they have.
    """
    found, kind = values.copy(), _lengths(made)
    for one in np.unique(kind[these]):
        source, target = those & (kind == one), these & (kind == one)
        if source.sum() >= _KINDS:
            found[target] = np.quantile(values[source], _ranks(values[target]))
    return found


def _lengths(made: Requests) -> Ints:
    """A number for prompts of about the same length: those within a factor of two have it in common."""
    return np.log2(np.maximum(made.prompt, 1)).astype(np.int64)


def _span(times: Floats) -> float:
    return max(float(np.ptp(times)), 1.0)


def _ranks(values: Floats | Ints) -> Floats:
    """Where each value stands among all, in (0, 1), those that are alike in order of arrival."""
    found = np.empty(len(values))
    found[np.argsort(values, kind="stable")] = (np.arange(len(values)) + 0.5) / len(values)
    return found

"""A world in which a policy is in force: who is refused, who waits where, what the engines do."""

import ipaddress
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tracemortem.replay.model import Model
from tracemortem.replay.policy import Action
from tracemortem.replay.recorded import Bools, Floats, Requests
from tracemortem.replay.resets import World

_BEHIND_S = 1e9  # longer than any recording: behind all others in a queue
_GOLDEN = (math.sqrt(5) - 1) / 2  # multiples of it are spread evenly over [0, 1)


@dataclass(frozen=True)
class Scene:
    """What policies speak of: clients' addresses by number, culprits' CIDRs, tokens of a long prompt.

    is_size_told  whether it is known how much KV memory there is
    """

    clients: tuple[str, ...]
    culprits: tuple[str, ...]
    long_tokens: float
    is_size_told: bool

    @cached_property
    def addresses(self) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, ...]:
        """The clients' addresses, read once for all trials; IPv4-mapped ones as IPv4."""
        return tuple(_address(one) for one in self.clients)


@dataclass(frozen=True)
class Trial:
    """A policy in force; every array has shape (n,).

    order      who waits goes by the smallest; a multiple of _BEHIND_S tells the queue
    patience   s, after which a request leaves the queue
    instead_s  how long the answer takes that it has then from elsewhere; nan: it is refused
    refused    answered with an error as it comes
    cut        its answer ends early
    """

    world: World
    order: Floats
    patience: Floats
    instead_s: Floats
    refused: Bools
    cut: Bools

    def played(self) -> tuple[Floats, Bools]:
        """Latencies, nan where a request is refused or fits in no engine; who was answered from elsewhere."""
        kept = ~self.refused
        made, total_s = self.world.made, np.full(len(self.refused), np.nan)
        if kept.any():
            times = self.world.model.times(made.only(kept), self.order[kept], self.patience[kept])
            total_s[kept] = self.world.rest[kept] + times[:, 2] - made.arrival[kept]
        fits = self.world.model.fits(made)
        left = kept & fits & np.isnan(total_s) & np.isfinite(self.patience)
        elsewhere = self.world.rest + self.patience + self.instead_s
        return np.where(left, elsewhere, total_s), left & np.isfinite(self.instead_s)


class NotAvailableError(Exception):
    """What a policy needs and the replay does not have."""


def trial(world: World, actions: Sequence[Action], scene: Scene) -> Trial:
    """The world with these actions in force, one after the other.

    raises   NotAvailableError with the reason, where one cannot be represented
    """
    count = len(world.made.prompt)
    found = Trial(
        world,
        world.made.arrival,
        np.full(count, np.inf),
        np.full(count, np.nan),
        np.zeros(count, dtype=bool),
        np.zeros(count, dtype=bool),
    )
    for action in actions:
        found = _ACTIONS[action.name](found, action, scene)
    return found


def _limited(found: Trial, **limits: int) -> Trial:
    model = found.world.model
    return _served_by(found, replace(model, limits=replace(model.limits, **limits)))


def _served_by(found: Trial, model: Model) -> Trial:
    return replace(found, world=replace(found.world, model=model))


def _asking(found: Trial, made: Requests) -> Trial:
    return replace(found, world=replace(found.world, made=made))


def _leaving(found: Trial, patience: Floats, instead_s: Floats) -> Trial:
    """One more way out of the queue: the one that comes first is taken."""
    is_first = patience < found.patience
    return replace(
        found,
        patience=np.where(is_first, patience, found.patience),
        instead_s=np.where(is_first, instead_s, found.instead_s),
    )


def _own_queue(found: Trial, action: Action, _: Scene) -> Trial:
    is_long = found.world.made.prompt >= action.numbers["from_tokens"]
    return replace(found, order=np.where(is_long, found.order + _BEHIND_S, found.order))


def _give_up(found: Trial, action: Action, _: Scene) -> Trial:
    is_long = found.world.made.prompt >= action.numbers["from_tokens"]
    patience = np.where(is_long, action.numbers["after_s"], np.inf)
    return _leaving(found, patience, np.full(len(patience), np.nan))


def _own_replicas(found: Trial, action: Action, _: Scene) -> Trial:
    made, own = found.world.made, int(action.numbers["replicas"])
    whole = len(found.world.model.slowness)
    if own >= whole:
        raise NotAvailableError(
            f"the service has {whole} replicas, and {own} of them were to serve long prompts only"
        )
    is_long = made.prompt >= action.numbers["from_tokens"]
    replica = made.replica.copy()
    replica[is_long] = whole - own + np.arange(is_long.sum()) % own
    astray = ~is_long & (replica >= whole - own)
    replica[astray] = np.arange(astray.sum()) % (whole - own)
    return _asking(found, replace(made, replica=replica))


def _block_cap(found: Trial, action: Action, _: Scene) -> Trial:
    made, numbers = found.world.made, action.numbers
    blocks = np.full(len(made.prompt), numbers["blocks"])
    if not math.isnan(numbers["times"]):
        wanted = np.ceil(made.prompt * numbers["times"] / numbers["block_tokens"]) + numbers["plus"]
        blocks = np.minimum(blocks, wanted)
    room = (blocks * numbers["block_tokens"]).astype(np.int64) - made.prompt
    output = np.minimum(made.output, np.maximum(room, 1))
    found = replace(
        found, refused=found.refused | (room < 1), cut=found.cut | ((room >= 1) & (output < made.output))
    )
    return _asking(found, replace(made, output=output))


def _block_size(found: Trial, action: Action, scene: Scene) -> Trial:
    if not scene.is_size_told:
        raise NotAvailableError(
            "how many KV blocks the engines have is not recorded (vllm:cache_config_info)"
        )
    limits, block = found.world.model.limits, int(action.numbers["tokens"])
    made = found.world.made
    found = _asking(found, replace(made, cached=made.cached // block * block))
    return _limited(found, block=block, blocks=limits.blocks * limits.block // block)


def _no_prefix_cache(found: Trial, _: Action, __: Scene) -> Trial:
    made = found.world.made
    return _asking(found, replace(made, cached=np.zeros_like(made.cached)))


def _chunk(found: Trial, action: Action, _: Scene) -> Trial:
    return _limited(found, chunk=int(action.numbers["tokens"]))


def _step_budget(found: Trial, action: Action, _: Scene) -> Trial:
    return _limited(found, budget=int(action.numbers["tokens"]))


def _long_prefills(found: Trial, action: Action, _: Scene) -> Trial:
    return _limited(
        found, long_from=int(action.numbers["from_tokens"]), long_most=int(action.numbers["at_once"])
    )


def _shortest_first(found: Trial, _: Action, __: Scene) -> Trial:
    made = found.world.made
    queue = np.maximum(found.order // _BEHIND_S, 0) * _BEHIND_S
    return replace(found, order=queue + (made.prompt - made.cached))


def _more_replicas(found: Trial, action: Action, _: Scene) -> Trial:
    """Each new one takes its share from all others; who stays, stays where it was."""
    model, more = found.world.model, int(action.numbers["count"])
    there = len(model.slowness)
    place = np.arange(len(found.order)) % (there + more)
    made = found.world.made
    found = _asking(found, replace(made, replica=np.where(place < there, made.replica, place)))
    slowness = np.vstack((model.slowness, np.ones((more, model.slowness.shape[1]))))
    return _served_by(found, replace(model, slowness=slowness))


def _limit(found: Trial, action: Action, scene: Scene) -> Trial:
    """The first so many of a minute pass, of those whom nothing before in the policy has refused.

    What is usual is counted as recorded: that the same policy refuses some of them makes nobody's usual less.
    """
    made, theirs = found.world.made, _theirs(found, action, scene)
    allowed = action.numbers["per_minute"]
    if math.isnan(allowed):
        minutes = np.unique(made.started[made.is_before] // 60)
        allowed = action.numbers["times"] * (theirs & made.is_before).sum() / max(len(minutes), 1)
    own = np.flatnonzero(theirs & ~found.refused)
    own = own[np.argsort(made.started[own], kind="stable")]
    minute = made.started[own] // 60
    place = np.arange(len(own)) - np.searchsorted(minute, minute, side="left")
    refused = found.refused.copy()
    refused[own[place >= math.ceil(allowed)]] = True
    return replace(found, refused=refused)


def _block(found: Trial, action: Action, scene: Scene) -> Trial:
    """From the incident's start on: before, nobody has a reason to."""
    made = found.world.made
    since = made.started >= made.started[made.is_during].min()
    return replace(found, refused=found.refused | (_theirs(found, action, scene) & since))


def _fallback(found: Trial, action: Action, _: Scene) -> Trial:
    """Each request has one way out of the queue; which, is spread evenly over arrivals."""
    numbers, made = action.numbers, found.world.made
    chance = np.arange(1, len(made.prompt) + 1) * _GOLDEN % 1
    is_cached = chance < numbers["cached_share"]
    is_lighter = ~is_cached & (chance < numbers["cached_share"] + numbers["lighter_share"])
    chosen = [is_cached, is_lighter]
    after = [numbers["cached_after_s"], numbers["lighter_after_s"]]
    takes = [
        np.full(len(chance), numbers["cached_s"]),
        numbers["lighter_times"] * found.world.model.alone_s(made),
    ]
    patience = np.select(chosen, after, numbers["refuse_after_s"])
    return _leaving(found, patience, np.select(chosen, takes, np.nan))


def _theirs(found: Trial, action: Action, scene: Scene) -> Bools:
    made = found.world.made
    if action.who == ("long",):
        return np.asarray(made.prompt >= scene.long_tokens)
    ranges = scene.culprits if action.who == ("culprits",) else action.who
    if not ranges:
        raise NotAvailableError("no address range is known as a culprit")
    if not scene.clients:
        raise NotAvailableError("the clients' addresses are not recorded")
    networks = [ipaddress.ip_network(one) for one in ranges]
    inside = np.array([any(one in network for network in networks) for one in scene.addresses])
    return np.asarray((made.client >= 0) & inside[np.maximum(made.client, 0)])


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


_ACTIONS: Mapping[str, Callable[[Trial, Action, Scene], Trial]] = {
    "own_queue": _own_queue,
    "give_up": _give_up,
    "own_replicas": _own_replicas,
    "block_cap": _block_cap,
    "block_size": _block_size,
    "no_prefix_cache": _no_prefix_cache,
    "chunk": _chunk,
    "step_budget": _step_budget,
    "long_prefills": _long_prefills,
    "shortest_first": _shortest_first,
    "more_replicas": _more_replicas,
    "limit": _limit,
    "block": _block,
    "fallback": _fallback,
}

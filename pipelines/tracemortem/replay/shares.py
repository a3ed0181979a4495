"""How much of the P99's rise goes when a factor is put back."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np

from tracemortem.findings import Reset
from tracemortem.replay.recorded import Floats, Requests
from tracemortem.replay.resets import World, undone

QUANTILE = 0.99
_REPLICATES = 200
_SEED = 1995  # the same input must give the same interval
_MINUTE_S = 60.0


@dataclass(frozen=True)
class Fit:
    """How well the replay agrees with what was recorded: P99s in s, of the baseline and of the incident."""

    before_recorded_s: float
    before_replayed_s: float
    during_recorded_s: float
    during_replayed_s: float

    @property
    def error(self) -> float:
        """Relative error of the incident's P99: 0.1 if the replay is a tenth too slow."""
        return self.during_replayed_s / self.during_recorded_s - 1

    @property
    def before_error(self) -> float:
        """The same of the baseline's."""
        return self.before_replayed_s / self.before_recorded_s - 1


def fit(world: World, total_s: Floats) -> Fit:
    """The agreement of the latencies replayed with those recorded."""
    made = world.made
    before, during = made.is_before, made.is_during
    return Fit(
        *(_p99(values[phase]) for phase in (before, during) for values in (made.total, total_s)),
    )


def verdict(agreement: Fit, settings: Mapping[str, float]) -> tuple[str, str]:
    """What a replay is good for, by the larger of its errors: quantified, ranked or not_available; and why.

    settings   replay_quantified_error, replay_ranked_error (thresholds.yaml)
    """
    recorded, replayed = agreement.during_recorded_s, agreement.during_replayed_s
    if not replayed > agreement.before_replayed_s:
        return "not_available", "Not available: replayed, the P99 does not rise."
    worst = max(abs(agreement.error), abs(agreement.before_error))
    how = f"replayed, the P99 is {replayed:.2f} s where {recorded:.2f} s were recorded"
    before = f"{agreement.before_replayed_s:.2f} s where {agreement.before_recorded_s:.2f} s were"
    how = f"{how}, and before the incident {before}"
    if worst <= settings["replay_quantified_error"]:
        return "quantified", f"The replay agrees: {how}."
    if worst <= settings["replay_ranked_error"]:
        return "ranked", f"Too rough for figures: {how}."
    return "not_available", f"Not available: {how}."


def shares(world: World, total_s: Floats, names: Sequence[str], long_tokens: float) -> Mapping[str, Reset]:
    """Each of these factors put back by itself.

    total_s   the latencies replayed with nothing put back
    Intervals are 95 % of a bootstrap over minutes, widened by the replay's own relative error. A share is
    below 0 where things would have been worse.
    """
    widened = abs(fit(world, total_s).error)
    found = {}
    for name in names:
        there = undone(world, [name], long_tokens)
        found[name] = _share(name, world.made, total_s, there, widened)
    return found


def joint(world: World, total_s: Floats, names: Sequence[str], long_tokens: float) -> Mapping[str, float]:
    """Of factors that are to blame together, each one's share by Shapley: they add up to that of all."""
    gone: dict[tuple[str, ...], float] = {(): 0.0}
    made = world.made
    base, peak = _p99(total_s[made.is_before]), _p99(total_s[made.is_during])
    for size in range(1, len(names) + 1):
        for some in itertools.combinations(names, size):
            there = undone(world, some, long_tokens)
            gone[some] = (peak - _p99(there.total_s()[there.made.is_during])) / (peak - base)
    count = len(names)
    found = {}
    for name in names:
        others = [other for other in names if other != name]
        found[name] = sum(
            factorial(size) * factorial(count - size - 1) / factorial(count)
            * (gone[tuple(one for one in names if one in {*some, name})] - gone[some])
            for size in range(count)
            for some in itertools.combinations(others, size)
        )  # fmt: skip
    return found


def _share(name: str, made: Requests, total_s: Floats, there: World, widened: float) -> Reset:
    blocks = (
        _minutes(made.started, total_s, made.is_before),
        _minutes(made.started, total_s, made.is_during),
        _minutes(there.made.started, there.total_s(), there.made.is_during),
    )
    drawn = np.random.default_rng(_SEED)
    spread = []
    for _ in range(_REPLICATES):
        before = _again(blocks[0], drawn.integers(0, len(blocks[0]), len(blocks[0])))
        # the same minutes with and without, as far as both have them
        picked = drawn.integers(0, len(blocks[1]), len(blocks[1]))
        during, after = _again(blocks[1], picked), _again(blocks[2], picked % len(blocks[2]))
        spread.append((before, during, after))
    base, peak, now = np.array(spread).T
    once = tuple(_p99(np.concatenate(block)) for block in blocks)
    share = (once[1] - once[2]) / (once[1] - once[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.nanquantile((peak - now) / (peak - base), (0.025, 0.975))
    return Reset(name, once[2], share, float(low) - widened, float(high) + widened)


def _minutes(started: Floats, total_s: Floats, chosen: np.ndarray) -> list[Floats]:
    minute = (started[chosen] // _MINUTE_S).astype(np.int64)
    order = np.argsort(minute, kind="stable")
    edges = np.flatnonzero(np.diff(minute[order])) + 1
    return np.split(total_s[chosen][order], edges)


def _again(blocks: Sequence[Floats], picked: np.ndarray) -> float:
    return _p99(np.concatenate([blocks[number] for number in picked]))


def _p99(values: Floats) -> float:
    """Where a request fits into no engine, its latency is unknown and not counted."""
    return float(np.nanquantile(values, QUANTILE))

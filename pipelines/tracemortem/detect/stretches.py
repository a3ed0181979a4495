"""Which minutes of a service are slow and which are quiet, told apart together.

What is usual is known from quiet minutes, and which minutes are quiet from what is usual. So both are found
by turns, from a first guess that does not need to know either, until nothing changes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracemortem.detect import usual
from tracemortem.detect.arrivals import Arrivals
from tracemortem.detect.scan import Noise, Stretch, overdispersion, scan, share_at
from tracemortem.detect.season import season
from tracemortem.detect.watches import Watch

# Simulated weeks settle in three or four; one that still swings between two answers keeps the last.
ROUNDS = 8
# Of the stretches near, less than the median: half of a short recording may be spike, and quiet stretches
# that are taken for slow at first are cleared in the next round.
NEAR_RANK = 0.4


@dataclass(frozen=True)
class Level:
    """The usual value of one quantile, and the requests beyond it.

    excess      by request: logarithm of its latency over the usual quantile of its minute
    is_slow     by request: excess > 0
    slow        by minute: how many are
    noise       overdispersion of slow
    usual_from  where the usual value comes from, to be read after "what is usual"
    """

    quantile: float
    excess: NDArray[np.float64]
    is_slow: NDArray[np.bool_]
    slow: NDArray[np.int64]
    noise: Noise
    usual_from: str

    def ratio(self, rows: slice) -> float:
        """The quantile of some requests over the usual one."""
        return float(np.exp(np.quantile(self.excess[rows], self.quantile)))

    def is_raised(self, rows: slice, watch: Watch) -> bool:
        """Whether so many of some requests are slow, and so slow, that it matters."""
        least = share_at(watch.number("share_odds"), 1 - self.quantile)
        return bool(
            np.mean(self.is_slow[rows]) >= least and self.ratio(rows) >= watch.number("candidate_ratio")
        )


@dataclass(frozen=True)
class Findings:
    """levels by quantile; stretches large enough to matter, in time order; quiet: minutes outside them."""

    levels: dict[float, Level]
    stretches: tuple[Stretch, ...]
    quiet: NDArray[np.bool_]


def find(arrivals: Arrivals, watch: Watch) -> Findings:
    """The stretches of minutes in which a service was slow, at every quantile of the watch."""
    minutes = arrivals.counts.size
    quiet = np.ones(minutes, dtype=np.bool_)
    bases = {quantile: _base(arrivals, watch, quantile) for quantile in watch.quantiles}
    levels = _levels(bases, watch, quiet, is_first=True)
    stretches = _stretches(arrivals, watch, levels)
    for _ in range(ROUNDS):
        quiet = outside(stretches, minutes)
        # A quantile for which too little is left to say anew what is usual keeps what it had.
        levels |= _levels(bases, watch, quiet, is_first=False)
        stretches = _stretches(arrivals, watch, levels)
        if np.array_equal(outside(stretches, minutes), quiet):
            break
    return Findings(levels, tuple(stretches), outside(stretches, minutes))


def outside(stretches: Iterable[Stretch], minutes: int) -> NDArray[np.bool_]:
    """One flag a minute: in none of the stretches."""
    quiet = np.ones(minutes, dtype=np.bool_)
    for stretch in stretches:
        quiet[stretch.first : stretch.last] = False
    return quiet


@dataclass(frozen=True)
class _Base:
    """Requests with their season taken off, where it is known. said: where what is usual comes from."""

    arrivals: Arrivals
    said: str


def _base(arrivals: Arrivals, watch: Watch, quantile: float) -> _Base:
    """The requests as one quantile is to look at them."""
    known = season(arrivals, quantile, int(watch.number("block_minutes")))
    if known is None:
        return _Base(arrivals, "in the hours around")
    rest = replace(arrivals, log_s=arrivals.log_s - known[arrivals.minute])
    return _Base(rest, "at that time on other days")


def _levels(
    bases: Mapping[float, _Base], watch: Watch, quiet: NDArray[np.bool_], *, is_first: bool
) -> dict[float, Level]:
    """The usual value of each quantile; a quantile that the recording is too small for is left out."""
    block = int(watch.number("block_minutes"))
    reach = int(watch.number("baseline_reach_minutes"))
    levels = {}
    for quantile, base in bases.items():
        arrivals = base.arrivals
        table = usual.histogram(arrivals, quiet, block)
        blocks = usual.local_quantile(table, quantile, reach)
        if is_first:
            near = usual.first_guess(table, quantile, reach, NEAR_RANK)
            day = usual.first_guess(table, quantile, int(watch.number("day_reach_minutes")), 0.5)
            guess = np.minimum(near, day + np.log(watch.number("candidate_ratio")))
            blocks = np.where(np.isnan(guess), blocks, guess)
        if np.isnan(blocks).any():
            continue
        excess = arrivals.log_s - usual.by_minute(blocks, quiet.size, block)[arrivals.minute]
        is_slow = excess > 0
        slow = arrivals.count(is_slow)
        noise = overdispersion(slow * quiet, arrivals.counts * quiet, 1 - quantile, is_first=is_first)
        levels[quantile] = Level(quantile, excess, is_slow, slow, noise, base.said)
    return levels


def _stretches(arrivals: Arrivals, watch: Watch, levels: dict[float, Level]) -> list[Stretch]:
    """What the scans of all quantiles find, less what is significant but slight."""
    found = [
        stretch
        for quantile, level in levels.items()
        for stretch in scan(
            level.slow,
            arrivals.counts,
            quantile=quantile,
            odds=watch.odds,
            noise=level.noise,
            evidence=watch.number("evidence"),
            silence_minutes=int(watch.number("silence_minutes")),
        )
        if level.is_raised(arrivals.within(stretch.first, stretch.last), watch)
    ]
    return sorted(found, key=lambda s: (s.first, s.last, s.quantile))

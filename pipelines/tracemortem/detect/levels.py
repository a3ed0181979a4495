"""The usual value of each latency quantile, minute by minute, and which requests are beyond it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracemortem.detect import usual
from tracemortem.detect.arrivals import Arrivals
from tracemortem.detect.scan import Noise, overdispersion, share_at
from tracemortem.detect.season import season
from tracemortem.detect.watches import Watch

# Of the stretches near, less than the median: half of a short recording may be spike, and quiet stretches
# that are taken for slow at first are cleared in the next round.
NEAR_RANK = 0.4


@dataclass(frozen=True)
class Level:
    """The usual value of one quantile, and the requests beyond it.

    is_decided  by request of the series: whether it is known to be beyond the usual quantile, or not to be
    arrivals    those that are; of them:
    excess      by request: logarithm of its latency over the usual quantile of its minute
    is_slow     by request: excess > 0
    slow        by minute: how many are
    noise       overdispersion of slow
    usual_from  where the usual value comes from, to be read after "what is usual"
    """

    quantile: float
    is_decided: NDArray[np.bool_]
    arrivals: Arrivals
    excess: NDArray[np.float64]
    is_slow: NDArray[np.bool_]
    slow: NDArray[np.int64]
    noise: Noise
    usual_from: str

    def ratio(self, first: int, last: int) -> float:
        """The quantile of the requests in the minutes first to last - 1 over the usual one; 1 of none."""
        excess = self.excess[self.arrivals.within(first, last)]
        return float(np.exp(np.quantile(excess, self.quantile))) if excess.size else 1.0

    def seconds(self, first: int, last: int) -> float:
        """That quantile itself; 0 of none."""
        log_s = self.arrivals.log_s[self.arrivals.within(first, last)]
        return float(np.exp(np.quantile(log_s, self.quantile))) if log_s.size else 0.0

    def is_raised(self, first: int, last: int, watch: Watch) -> bool:
        """Whether so many requests of some minutes are slow, and so slow, that it matters."""
        requests = int(self.arrivals.counts[first:last].sum())
        slow = int(self.slow[first:last].sum())
        is_common = slow >= share_at(watch.number("share_odds"), 1 - self.quantile) * requests
        return is_common and self.ratio(first, last) >= watch.number("candidate_ratio")


@dataclass(frozen=True)
class Base:
    """The requests as one quantile looks at them.

    rest  the same with their season taken off, where it is known; said: where what is usual comes from
    """

    quantile: float
    arrivals: Arrivals
    rest: Arrivals
    said: str


def bases(arrivals: Arrivals, watch: Watch) -> tuple[Base, ...]:
    """The requests as each quantile of the watch looks at them."""
    return tuple(
        _base(arrivals, quantile, int(watch.number("block_minutes"))) for quantile in watch.quantiles
    )


def _base(arrivals: Arrivals, quantile: float, block_minutes: int) -> Base:
    known = season(arrivals, quantile, block_minutes)
    if known is None:
        return Base(quantile, arrivals, arrivals, "in the hours around")
    rest = replace(arrivals, log_s=arrivals.log_s - known[arrivals.minute])
    return Base(quantile, arrivals, rest, "at that time on other days")


def levels(
    looks: Sequence[Base], watch: Watch, quiet: NDArray[np.bool_], before: Mapping[float, Level]
) -> dict[float, Level]:
    """The usual value of each quantile; a quantile that the recording is too small for is left out.

    quiet   one flag a minute
    before  the levels of the round before; empty in the first, in which `quiet` says nothing
    """
    found = {}
    for look in looks:
        level = _level(look, watch, quiet, before.get(look.quantile), is_first=not before)
        if level is not None:
            found[look.quantile] = level
    return found


def _level(
    look: Base, watch: Watch, quiet: NDArray[np.bool_], before: Level | None, *, is_first: bool
) -> Level | None:
    block = int(watch.number("block_minutes"))
    reach = int(watch.number("baseline_reach_minutes"))
    quantile, arrivals = look.quantile, look.arrivals
    table = usual.histogram(look.rest if before is None else look.rest.only(before.is_decided), quiet, block)
    blocks = usual.local_quantile(table, quantile, reach)
    if is_first:
        near = usual.first_guess(table, quantile, reach, NEAR_RANK)
        day = usual.first_guess(table, quantile, int(watch.number("day_reach_minutes")), 0.5)
        # What is still going on when a recording ends may be most of it; then only its beginning was usual.
        opening = usual.opening(table, quantile, reach)
        guess = np.minimum(near, np.minimum(day, opening) + np.log(watch.number("candidate_ratio")))
        blocks = np.where(np.isnan(guess), blocks, guess)
    if np.isnan(blocks).any():
        return None
    excess = look.rest.log_s - usual.by_minute(blocks, quiet.size, block)[arrivals.minute]
    is_decided = decided(arrivals, excess)
    if not is_decided.any():
        return None
    own = arrivals.only(is_decided)
    excess = excess[is_decided]
    is_slow = excess > 0
    slow = own.count(is_slow)
    noise = overdispersion(slow * quiet, own.counts * quiet, 1 - quantile, is_first=is_first)
    return Level(quantile, is_decided, own, excess, is_slow, slow, noise, look.said)


def decided(arrivals: Arrivals, excess: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each request is known to be slow, or known not to be.

    excess  logarithm of its latency over the usual quantile

    One that was cut short before it was slow might have become so. And of those that arrived less than the
    usual quantile before the recording ended, only the quick ones can have been recorded: they would make a
    spike that is under way at the end look over.
    """
    usual_us = np.exp(arrivals.log_s - excess) * 1e6
    is_complete = arrivals.at_us + usual_us <= arrivals.ends_us
    return is_complete & ((excess > 0) | ~arrivals.is_cut)

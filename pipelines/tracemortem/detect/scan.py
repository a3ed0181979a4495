"""Stretches of minutes in which more requests are slow than is usual: a binomial scan of one quantile.

A request is slow when its latency is beyond the usual quantile of its minute. Of n requests k are slow; the
log likelihood ratio of a raised share against the usual one is summed over minutes, and reset when it falls
to nothing (CUSUM; Page, Biometrika 41, 1954). A minute without requests adds nothing, so gaps are never
filled in.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# A normal distribution's standard deviation: its median absolute deviation times this, ...
NORMAL = 1.4826
# ... or, where half of the values may lie too high, the distance of its 5 % and 25 % quantiles over this.
LOWER = 0.9704
# Fewer stretches than this may be half spike.
FEW = 48
# Lengths of stretches at which noise is measured: those of most spikes.
NOISE_MINUTES = (5, 10, 20, 30, 60)


@dataclass(frozen=True)
class Stretch:
    """Minutes first to last - 1 in which requests beyond `quantile` are too many by `evidence` nats.

    odds  those of a slow request, against the usual, for which the evidence is strongest
    """

    first: int
    last: int
    evidence: float
    quantile: float
    odds: float

    def is_near(self, other: "Stretch", minutes: int) -> bool:
        """Whether two stretches overlap, or lie at most so far apart."""
        return self.first - other.last <= minutes and other.first - self.last <= minutes


def share_at(odds: float, usual: float) -> float:
    """The share whose odds are `odds` times those of the usual share."""
    return odds * usual / (1 + (odds - 1) * usual)


def weight_of_evidence(
    slow: NDArray[np.int64], requests: NDArray[np.int64], usual: float, odds: float, noise: float
) -> NDArray[np.float64]:
    """Log likelihood ratio of each minute (nats): slow with raised odds against slow at the usual share."""
    raised = share_at(odds, usual)
    hit, miss = np.log(raised / usual), np.log((1 - raised) / (1 - usual))
    weights: NDArray[np.float64] = (slow * hit + (requests - slow) * miss) / noise
    return weights


@dataclass(frozen=True)
class Noise:
    """How many times the variance of a stretch's slow requests exceeds the binomial, by length; at least 1.

    minutes, factors  ascending lengths and the factor at each

    Requests share the level of their time, so the factor grows with the requests that a stretch holds. One
    factor for all lengths would either take an hour's drift for a spike or drown a spike of five minutes in
    it.
    """

    minutes: tuple[float, ...]
    factors: tuple[float, ...]

    def at(self, minutes: float) -> float:
        """The factor for a stretch of so many minutes."""
        return float(np.interp(minutes, self.minutes, self.factors))


def overdispersion(
    slow: NDArray[np.int64], requests: NDArray[np.int64], usual: float, *, is_first: bool
) -> Noise:
    """The noise of a service whose share of slow requests is `usual`.

    slow, requests  by minute, of quiet minutes only (0 elsewhere)
    is_first        whether spikes may still be among them, since none is known yet

    From the spread of Pearson residuals of stretches of each length, robust, so that what spikes remain do
    not inflate it. Only stretches that expect two slow requests tell noise from the grain of whole numbers,
    and it takes twelve of them. Lengths that lack them are interpolated, from 1 for no length at all.
    """
    minutes, factors = [0.0], [1.0]
    for length in NOISE_MINUTES:
        k, n = np.add.reduceat(np.stack([slow, requests]), np.arange(0, requests.size, length), axis=1)
        ample = n * usual >= 2
        if np.count_nonzero(ample) < 12:
            continue
        residuals = (k[ample] - n[ample] * usual) / np.sqrt(n[ample] * usual * (1 - usual))
        if is_first and residuals.size < FEW:
            low, high = np.quantile(residuals, (0.05, 0.25))
            deviation = float(high - low) / LOWER
        else:
            deviation = float(NORMAL * np.median(np.abs(residuals - np.median(residuals))))
        minutes.append(float(length))
        factors.append(max(factors[-1], deviation**2))
    return Noise(tuple(minutes), tuple(factors))


def excursions(
    weights: NDArray[np.float64], evidence: float, silence: NDArray[np.bool_]
) -> Iterator[tuple[int, int]]:
    """Runs of minutes whose weights add up to `evidence` or more, as first and last (exclusive).

    silence  minutes at which whatever ran before is closed

    A run ends at its peak once the sum has fallen by `evidence` from there: that much says the spike is over,
    however long it was, and what follows is another one.
    """
    total = peak = 0.0
    first = last = 0
    for minute, weight in enumerate(weights.tolist()):
        if total <= 0:
            total = peak = 0.0
            first = minute
        total += weight
        if total > peak:
            peak, last = total, minute + 1
        if total <= 0 or peak - total >= evidence or silence[minute]:
            if peak >= evidence:
                yield first, last
            total = 0.0
    if total > 0 and peak >= evidence:
        yield first, last


def silent(requests: NDArray[np.int64], minutes: int) -> NDArray[np.bool_]:
    """Minutes that follow, counting themselves, at least `minutes` minutes without a request."""
    index = np.arange(requests.size)
    latest = np.maximum.accumulate(np.where(requests > 0, index, -1))
    return index - latest >= minutes


def scan(
    slow: NDArray[np.int64],
    requests: NDArray[np.int64],
    *,
    quantile: float,
    odds: tuple[float, ...],
    noise: Noise,
    evidence: float,
    silence_minutes: int,
) -> list[Stretch]:
    """The stretches with too many requests beyond one quantile, apart from each other, in time order.

    Each of the odds is scanned for; of stretches that overlap the one with most evidence stands.
    """
    silence = silent(requests, silence_minutes)
    usual, least = 1 - quantile, noise.at(NOISE_MINUTES[0])
    found = []
    for one in odds:
        weights = weight_of_evidence(slow, requests, usual, one, least)
        for first, last in excursions(weights, evidence, silence):
            total = float(weights[first:last].sum()) * least / noise.at(last - first)
            if total >= evidence:
                found.append(Stretch(first, last, total, quantile, one))
    kept: list[Stretch] = []
    for stretch in sorted(found, key=lambda s: (-s.evidence, s.first)):
        if all(stretch.last <= other.first or other.last <= stretch.first for other in kept):
            kept.append(stretch)
    return sorted(kept, key=lambda s: s.first)

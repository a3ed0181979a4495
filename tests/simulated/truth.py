"""What came of it: the minutes in which P99 stood above that of the same minutes without the trouble."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from simulated.fleet import GONE, Fleet
from simulated.shop import Shop

FELT_RATIO = 1.5  # a minute that stands out
PAGES_RATIO = (
    1.75  # of P99 over all of its minutes: between the half more that is told apart and the double that pages
)
FELT_MINUTES = 5


@dataclass(frozen=True)
class Effect:
    """window: first and past-the-last minute, None if it was not felt. p99_s: of both runs in it."""

    window: tuple[int, int] | None
    p99_s: float
    usual_p99_s: float

    def share_gone(self, other: Fleet) -> float:
        """Share of the rise of P99 that is not there in another run."""
        assert self.window is not None
        minutes, latency = measured(other)
        inside = (minutes >= self.window[0]) & (minutes < self.window[1])
        return float((self.p99_s - np.quantile(latency[inside], 0.99)) / (self.p99_s - self.usual_p99_s))


def measured(fleet: Fleet) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Minute of arrival and latency of what counts: without client errors, with those given up."""
    counted = [one for one in fleet.exchanges if one.status < 400 or one.status >= GONE]
    minutes = np.array([int(one.ask.at // 60) for one in counted])
    return minutes, np.array([one.ended_at - one.ask.at for one in counted])


def effect(shop: Shop, run: Fleet, without: Fleet, start_s: float) -> Effect:
    """The run of minutes with the highest score: 1 for a minute whose P99 is raised, -0.5 for any other.

    From the trouble's start to the end of the recording: queues are felt for as long as they take to drain.
    """
    p99 = [by_minute(each, shop.minutes) for each in (run, without)]
    scores = np.where(p99[0] > FELT_RATIO * p99[1], 1.0, -0.5)
    first, last = int(start_s // 60), shop.minutes
    best, window = 0.0, (0, 0)
    for begin in range(first, last):
        total = np.cumsum(scores[begin:last])
        if total.size and total.max() > best:
            best, window = float(total.max()), (begin, begin + int(total.argmax()) + 1)
    if best < FELT_MINUTES:
        return Effect(None, 0, 0)
    pooled = []
    for each in (run, without):
        minutes, latency = measured(each)
        pooled.append(float(np.quantile(latency[(minutes >= window[0]) & (minutes < window[1])], 0.99)))
    if pooled[0] < PAGES_RATIO * pooled[1]:
        return Effect(None, 0, 0)
    return Effect(window, pooled[0], pooled[1])


def is_calm_before(shop: Shop, run: Fleet, without: Fleet, start_s: float) -> bool:
    """Whether nothing is felt before the trouble begins: at most half of those minutes stand out."""
    before = int(start_s // 60)
    p99 = [by_minute(each, shop.minutes)[:before] for each in (run, without)]
    return bool(np.median(p99[0] / np.maximum(p99[1], 1e-9)) <= FELT_RATIO)


def by_minute(fleet: Fleet, minutes: int) -> NDArray[np.float64]:
    """P99 of every minute; 0 where nothing arrived."""
    at, latency = measured(fleet)
    order = np.argsort(at, kind="stable")
    bounds = np.searchsorted(at[order], np.arange(minutes + 1))
    parts = [latency[order][low:high] for low, high in pairwise(bounds)]
    return np.array([float(np.quantile(part, 0.99)) if part.size else 0.0 for part in parts])

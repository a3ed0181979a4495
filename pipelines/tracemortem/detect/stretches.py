"""Which minutes of a service are slow and which are quiet, told apart together.

What is usual is known from quiet minutes, and which minutes are quiet from what is usual. So both are found
by turns, from a first guess that does not need to know either, until nothing changes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracemortem.detect.arrivals import Arrivals
from tracemortem.detect.levels import Level, bases, levels
from tracemortem.detect.scan import Stretch, scan
from tracemortem.detect.watches import Watch

# Simulated weeks settle in three or four; one that still swings between two answers keeps the last.
ROUNDS = 8


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
    looks = bases(arrivals, watch)
    known = levels(looks, watch, quiet, {})
    stretches = _stretches(watch, known)
    for _ in range(ROUNDS):
        quiet = outside(stretches, minutes)
        # A quantile for which too little is left to say anew what is usual keeps what it had.
        known |= levels(looks, watch, quiet, known)
        stretches = _stretches(watch, known)
        if np.array_equal(outside(stretches, minutes), quiet):
            break
    return Findings(known, tuple(stretches), outside(stretches, minutes))


def outside(stretches: Iterable[Stretch], minutes: int) -> NDArray[np.bool_]:
    """One flag a minute: in none of the stretches."""
    quiet = np.ones(minutes, dtype=np.bool_)
    for stretch in stretches:
        quiet[stretch.first : stretch.last] = False
    return quiet


def _stretches(watch: Watch, known: dict[float, Level]) -> list[Stretch]:
    """What the scans of all quantiles find, less what is significant but slight."""
    found = [
        stretch
        for quantile, level in known.items()
        for stretch in scan(
            level.slow,
            level.arrivals.counts,
            quantile=quantile,
            odds=watch.odds,
            noise=level.noise,
            evidence=watch.number("evidence"),
            silence_minutes=int(watch.number("silence_minutes")),
        )
        if level.is_raised(stretch.first, stretch.last, watch)
    ]
    return sorted(found, key=lambda s: (s.first, s.last, s.quantile))

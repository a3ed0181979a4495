"""Stretches in which the level of a latency quantile stands higher: a second opinion beside the scan.

The scan asks whether slow requests are too many, this whether the quantile itself moved and stayed. Noise
that fools one seldom fools the other.
"""

import numpy as np
from numpy.typing import NDArray

from tracemortem.detect.levels import Level
from tracemortem.detect.pelt import changes
from tracemortem.detect.scan import NORMAL, Stretch, weight_of_evidence
from tracemortem.detect.watches import Watch

LONGEST = 1440  # values in a segment; quiet days are cut into days
FEW = 12  # quiet values that tell a spread


def shifts(watch: Watch, level: Level, quiet: NDArray[np.bool_]) -> list[Stretch]:
    """The stretches in which the quantile's residual stands high, in time order.

    quiet  one flag a minute: in no stretch of the scan; they alone say how much the residual varies

    The residual is the logarithm of a minute's quantile over the usual one, of a few minutes' where a minute
    has too few requests to have that quantile. It is clipped, so that one terrible minute is no shift.
    """
    first, last, residual = _residuals(level)
    if not residual.size:
        return []
    least = watch.number("shift_deviation_least")
    spans = raised(first, last, residual, quiet[first], watch, least)
    found = [_stretch(watch, level, *span) for span in spans]
    return [one for one in found if level.is_raised(one.first, one.last, watch)]


def raised(
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    residual: NDArray[np.float64],
    is_calm: NDArray[np.bool_],
    watch: Watch,
    deviation: float,
) -> list[tuple[int, int]]:
    """First and last (exclusive) minutes of the segments in which a series stands high.

    first, last  minutes of each value
    residual     values less what is usual
    is_calm      which values say how much it varies; `deviation` if they are few, or vary by less
    """
    calm = residual[is_calm]
    centre = 0.0
    if calm.size >= FEW:
        centre = float(np.median(calm))
        deviation = max(deviation, NORMAL * float(np.median(np.abs(calm - centre))))
    clip = watch.number("shift_clip")
    scaled = ((residual - centre) / deviation).clip(-clip, clip)
    found = []
    begins = 0
    for ends in changes(scaled, watch.number("shift_penalty"), LONGEST):
        span = int(first[begins]), int(last[ends - 1]) + 1
        is_high = np.median(scaled[begins:ends]) > watch.number("shift_height")
        if is_high and span[1] - span[0] < watch.number("shift_longest_minutes"):
            found.append(span)
        begins = ends
    return found


def _residuals(level: Level) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """First and last minute of each group of minutes, and the quantile of its requests' excess.

    A group has about as many requests as it takes for one of them to be beyond the quantile.
    """
    arrivals = level.arrivals
    minutes = np.flatnonzero(arrivals.counts)
    if not minutes.size:
        return minutes, minutes, np.zeros(0)
    counts = arrivals.counts[minutes]
    before = counts.cumsum() - counts
    group = np.floor(before * (1 - level.quantile)).astype(np.int64)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    ends = np.append(starts[1:], minutes.size)
    requests = np.add.reduceat(counts, starts)
    row_group = np.repeat(np.arange(starts.size), requests)
    ordered = level.excess[np.lexsort((level.excess, row_group))]
    place = before[starts] + np.rint(level.quantile * (requests - 1)).astype(np.int64)
    return minutes[starts], minutes[ends - 1], ordered[place]


def _stretch(watch: Watch, level: Level, first: int, last: int) -> Stretch:
    """The minutes as a stretch, with the evidence that the scan would give them."""
    usual, noise = 1 - level.quantile, level.noise.at(last - first)
    slow, requests = level.slow[first:last], level.arrivals.counts[first:last]
    evidence = {one: float(weight_of_evidence(slow, requests, usual, one, noise).sum()) for one in watch.odds}
    odds = max(evidence, key=lambda one: evidence[one])
    return Stretch(first, last, evidence[odds], level.quantile, odds)

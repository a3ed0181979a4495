"""How new is what a metric does now? A score for each sample of one series, from the samples before it alone.

Nothing is assumed of the metric: not its unit, its distribution or that it has a season. What it has never
done before is new, by as much as it exceeds the range of what it did: a record. Records are looked for in
five views of the series, since one that is level, noisier or off its season may break none in its plain
value; a record in one counts as much as in another. Records grow rare by themselves, so one threshold serves
every series.

The product does not use it: it watches requests, which have a distribution to be held against. It stands here
to say how far a detector without any knowledge of the metric comes.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DAY_S = 86_400
DAYS = 7  # earlier days that a sample is compared with
NEAR = 6  # samples by which a sample of an earlier day may be off the time of day, since series have gaps
LONG, MIDDLE, SHORT = 96, 48, 24  # samples; 8, 4 and 2 hours of a series sampled every five minutes
# A fortieth of the range. It is one number for all of NAB's profiles, and any from a fiftieth to a twentieth
# serves nearly as well.
NEWS = 0.025
TINY = 1e-12  # below this a range is rounding, and a flat series is not divided by it


def novelty(at_s: NDArray[np.int64], values: Floats, warm_up: int) -> Floats:
    """A score for each sample: 0 for what was seen before, else by how much it is new.

    at_s     seconds since the epoch, ascending; samples that are missing are left out by the caller
    values   one a sample, any unit, finite
    warm_up  samples at the start that only teach; their score is 0
    returns  the excess of the boldest record, in ranges of the view until then; 0 too where one of the LONG
             samples before scored as much, since what goes on is one piece of news

    Streaming: the score of a sample does not depend on those after it. O(n).
    """
    best = np.zeros(values.size)
    for view in views(at_s, values):
        np.maximum(best, records(view), out=best)
    best[:warm_up] = 0
    return first_of_group(best, LONG)


def views(at_s: NDArray[np.int64], values: Floats) -> tuple[Floats, ...]:
    """The series, and what else of it may break a record, one value a sample each.

    Its distance from the season, that distance over SHORT samples, the shift of its mean over LONG samples,
    and its spread about the running mean over MIDDLE samples.
    """
    season = values - usual(at_s, values)
    means = trailing_mean(values, LONG)
    before = np.concatenate([np.full(min(LONG, values.size), means[:1]), means[:-LONG]])
    spread = np.sqrt(trailing_mean((values - trailing_mean(values, MIDDLE)) ** 2, MIDDLE))
    return values, season, trailing_mean(season, SHORT), means - before, spread


def usual(at_s: NDArray[np.int64], values: Floats) -> Floats:
    """The median of the samples at the same time on up to DAYS earlier days, else the value itself.

    The nearest sample stands for a time, if it is at most NEAR times the usual step off.
    """
    step = float(np.median(np.diff(at_s))) if at_s.size > 1 else 0.0
    earlier = np.full((DAYS, values.size), np.nan)
    for day in range(1, DAYS + 1):
        wanted = at_s - day * DAY_S
        after = np.searchsorted(at_s, wanted).clip(0, at_s.size - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(wanted - at_s[before] < at_s[after] - wanted, before, after)
        near = np.abs(at_s[nearest] - wanted) <= NEAR * step
        earlier[day - 1, near] = values[nearest[near]]
    known = ~np.isnan(earlier).all(axis=0)
    found = values.copy()
    found[known] = np.nanmedian(earlier[:, known], axis=0)
    return found


def records(view: Floats) -> Floats:
    """By how much each sample lies outside the range of those before it, in units of that range; else 0."""
    highest, lowest = np.maximum.accumulate(view)[:-1], np.minimum.accumulate(view)[:-1]
    outside = np.maximum(view[1:] - highest, lowest - view[1:])
    excess = np.zeros(view.size)
    excess[1:] = np.maximum(outside, 0) / np.maximum(highest - lowest, TINY)
    return excess


def first_of_group(scores: Floats, length: int) -> Floats:
    """The scores that exceed all of the `length` scores before them; the others become 0."""
    padded = np.concatenate([np.full(length, -np.inf), scores])[:-1]
    highest = sliding_window_view(padded, length).max(axis=1)
    return np.where(scores > highest, scores, 0.0)


def trailing_mean(values: Floats, length: int) -> Floats:
    """The mean of the last `length` samples, of as many as there are at the start."""
    if not values.size:
        return values
    # from the first value on, so that the sums stay small where the values lie far from 0
    running = np.concatenate([[0.0], (values - values[0]).cumsum()])
    last = np.arange(1, values.size + 1)
    first = np.maximum(last - length, 0)
    means: Floats = values[0] + (running[last] - running[first]) / (last - first)
    return means

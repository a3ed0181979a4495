"""Detectors whose scores NAB publishes, written anew: what they score tells whether our scorer is NAB's.

Those that their description determines to the last digit; the others need their authors' programs or output.
"""

from math import erfc

import numpy as np
from nab import Floats, Series
from numpy.lib.stride_tricks import sliding_window_view


def null(series: Series) -> Floats:
    """Never alarms."""
    return np.full(series.values.size, 0.5)


def windowed_gaussian(series: Series) -> Floats:
    """How far a value lies in the tails of a normal distribution, fitted to samples before it.

    To all before it until there are 6,400, then to the latest 6,400, moved on by 100 at a time. NAB wrote
    scores with 12 digits, and the best threshold hangs on the last of them.
    """
    size, step = 6400, 100
    values, n = series.values, series.values.size
    grown = min(size, n - 1)
    mean, deviation = np.zeros(n), np.ones(n)
    for last in range(1, grown + 1):
        mean[last], deviation[last] = values[:last].mean(), values[:last].std()
    if n > size:
        moved = sliding_window_view(values, size)[::step]
        mean[size:] = moved.mean(axis=1).repeat(step)[: n - size]
        deviation[size:] = moved.std(axis=1).repeat(step)[: n - size]
    deviation[deviation == 0] = 1e-6
    scores = 1 - 0.5 * np.vectorize(erfc)(np.abs(values - mean) / (1.4142 * deviation))
    scores[0] = 0
    return scores.round(12)


def relative_entropy(series: Series) -> Floats:
    """Whether a window of 52 samples, in 5 bins, is distributed as no window before it was.

    By the relative entropy against each kind of window known, at 1 % of its chi-squared distribution (Wang
    and others, ICAC 2011).
    """
    bins, size = 5, 52
    values = series.values
    scores = np.zeros(values.size)
    low, high = values.min(), values.max()
    if high == low:
        return scores
    place = np.ceil((values - low) / ((high - low) / bins)).astype(int).clip(0, bins - 1)
    running = np.concatenate([np.zeros((1, bins)), np.eye(bins)[place].cumsum(axis=0)])
    shares = (running[size:] - running[:-size]) / size
    limit = 13.276704135987622  # of 4 degrees of freedom
    kinds, seen = shares[:1], [1]
    for last, share in enumerate(shares[1:], size):
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = 2 * size * np.where(share > 0, share * np.log(share / kinds), 0).sum(axis=1)
        nearest = int(entropy.argmin())
        if entropy[nearest] < limit:
            seen[nearest] += 1
        else:
            kinds, seen = np.vstack([kinds, share]), [*seen, 1]
            scores[last] = 1
    return scores


PEERS = {
    "null": null,
    "windowedGaussian": windowed_gaussian,
    "relativeEntropy": relative_entropy,
}

"""How likely is a difference by chance? Student's t, and what looking at many things at once costs."""

import math
import sys
from collections.abc import Sequence
from functools import cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

_STEPS = 4001  # of the integration
_LEAST = 1e-9  # what it cannot tell from nothing


def two_sided(t: float, df: float) -> float:
    """The probability that |T| of Student's distribution reaches |t|; df: degrees of freedom, 1 or more."""
    df = _held(df)
    angles, tail = _tails(df)
    return max(float(np.interp(np.arctan(abs(t) / np.sqrt(df)), angles, tail)), _LEAST)


def critical(p: float, df: float) -> float:
    """The t that |T| reaches with probability p."""
    df = _held(df)
    angles, tail = _tails(df)
    return float(np.sqrt(df) * np.tan(np.interp(-p, -tail, angles)))


def _held(df: float) -> float:
    """Degrees of freedom within bounds: above a thousand it is the normal distribution to three digits."""
    return round(min(max(df, 1.0), 1000.0), 2)


@cache
def _tails(df: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Angles from 0 to 90 degrees, and the two-sided tail beyond t = sqrt(df) tan(angle).

    In that angle the density is cos^(df - 1), which is smooth and ends at 90 degrees (the trapezoid rule).
    """
    angles = np.linspace(0, np.pi / 2, _STEPS)
    density = np.cos(angles) ** (df - 1)
    density[-1] = 0.0 if df > 1 else density[-1]
    area = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return angles, 1 - area / area[-1]


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Each p-value as the least false discovery rate at which it is still a find, in the order given.

    Benjamini and Hochberg, J. R. Statist. Soc. B 57(1), 1995: over all that was looked at, found or not.
    """
    count = len(p_values)
    q_values, least = [1.0] * count, 1.0
    for rank, number in zip(
        range(count, 0, -1), sorted(range(count), key=lambda one: -p_values[one]), strict=True
    ):
        least = min(least, p_values[number] * count / rank)
        q_values[number] = least
    return q_values


def together(*families: Sequence[float]) -> list[list[float]]:
    """The p-values of each family adjusted over all of them, since all that was looked at is one family."""
    q_values = iter(adjusted([p for family in families for p in family]))
    return [list(islice(q_values, len(family))) for family in families]


def poisson_tail(count: int, mean: float) -> float:
    """The probability that a Poisson variable reaches `count`; 1 where that is no more than its mean."""
    if count <= mean:
        return 1.0
    term = math.exp(count * math.log(mean) - mean - math.lgamma(count + 1)) if mean > 0 else 0.0
    total = 0.0
    while term > total * sys.float_info.epsilon:
        total, count = total + term, count + 1
        term *= mean / count
    return max(total, _LEAST)


def memory(residuals: NDArray[np.float64]) -> float:
    """By how much too many values a series seems to have, since each resembles the one before it; 1 or more.

    The integrated autocorrelation time of an AR(1) process, (1 + r) / (1 - r), with the bias of r in short
    series taken off (Marriott and Pope, Biometrika 41, 1954).
    """
    size = residuals.size
    spread = float(residuals @ residuals)
    if size < 4 or spread == 0:
        return 1.0
    r = float(residuals[1:] @ residuals[:-1]) / spread
    r = min(max((size * r + 1) / (size - 3), 0.0), 0.95)
    return (1 + r) / (1 - r)

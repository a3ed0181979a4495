"""Two groups and an outcome: ratios of its rates, whole and within strata, and tests of them.

Arrays of a group and of everybody, group included: n requests of which a have the outcome, of total of which
with it whole have the outcome. They broadcast, so that many groups are compared at once.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_Z = 1.959964  # 95 %, both sides


def risk_ratio(a: Floats, n: Floats, whole: Floats, total: Floats) -> tuple[Floats, Floats, Floats]:
    """The rate of the outcome in the group over that outside, and its 95 % interval (log-normal; Katz 1978).

    Half a request is added to each count, so that nothing divides by nothing. NaN where nobody is outside.
    """
    inside, outside = a + 0.5, whole - a + 0.5
    of, others = n + 0.5, np.where(total > n, total - n + 0.5, np.nan)
    ratio = (inside / of) / (outside / others)
    spread = np.sqrt(np.maximum(1 / inside - 1 / of + 1 / outside - 1 / others, 0))
    return ratio, ratio * np.exp(-_Z * spread), ratio * np.exp(_Z * spread)


def g_test(a: Floats, n: Floats, whole: Floats, total: Floats) -> Floats:
    """G, twice the log-likelihood ratio of group and outcome being independent; chi-squared of 1 df."""
    cells = (
        (a, n * whole / total),
        (n - a, n * (total - whole) / total),
        (whole - a, (total - n) * whole / total),
        (total - n - whole + a, (total - n) * (total - whole) / total),
    )
    found: Floats = np.zeros(np.broadcast(a, n, whole, total).shape)
    for seen, expected in cells:
        is_there = (seen > 0) & (expected > 0)
        ratio = np.divide(seen, expected, out=np.ones_like(found), where=is_there)
        found = found + 2 * seen * np.log(ratio)
    return np.maximum(found, 0)


def mantel_haenszel(a: Floats, n: Floats, whole: Floats, total: Floats) -> tuple[Floats, Floats]:
    """The risk ratio within strata, which lie along the last axis, and its chi-squared of 1 df.

    Mantel and Haenszel, J. Natl. Cancer Inst. 22 (1959). NaN and 0 where no stratum has both groups.
    """
    size = np.maximum(total, 1)
    inside = (a * (total - n) / size).sum(-1)
    outside = ((whole - a) * n / size).sum(-1)
    ratio: Floats = np.divide(inside, outside, out=np.full(inside.shape, np.nan), where=outside > 0)
    excess = (a - n * whole / size).sum(-1)
    variance = (n * (total - n) * whole * (total - whole) / (size**2 * np.maximum(total - 1, 1))).sum(-1)
    chi = np.divide(excess**2, variance, out=np.zeros(inside.shape), where=variance > 0)
    return ratio, chi


def chance(chi_squared: Floats) -> list[float]:
    """The probability that chi-squared of 1 degree of freedom reaches each of the values."""
    return [math.erfc(math.sqrt(value / 2)) for value in chi_squared.tolist()]

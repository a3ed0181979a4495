"""Least squares that no outlier and no negative coefficient spoils."""

import itertools

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDS = 30
_HUBER = 1.345  # Huber's constant: 95 % as efficient as plain least squares where errors are normal
_NORMAL = 1.4826  # standard deviation over median absolute deviation of a normal distribution
_TINY = 1e-12


def robust(rows: Floats, wanted: Floats) -> Floats:
    """Coefficients of at least 0 for `rows @ coefficients = wanted`, by Huber's weights.

    rows, wanted   shapes (n, k), k small, and (n,)
    returns        shape (k,); zeros where there is no row
    """
    found = np.zeros(rows.shape[1])
    if not len(rows):
        return found
    weights = np.ones(len(wanted))
    for _ in range(_ROUNDS):
        before, found = found, _positive(rows * weights[:, None], wanted * weights)
        residual = np.abs(wanted - rows @ found)
        scale = max(_NORMAL * float(np.median(residual)), _TINY)
        weights = np.sqrt(np.minimum(1.0, _HUBER * scale / np.maximum(residual, _TINY)))
        if np.allclose(found, before, rtol=1e-6, atol=0.0):
            break
    return found


def _positive(rows: Floats, wanted: Floats) -> Floats:
    """The best of all subsets of columns whose plain solution is positive: exact, and quick for a few."""
    count = rows.shape[1]
    gram, moment = rows.T @ rows, rows.T @ wanted
    explained, best = 0.0, np.zeros(count)
    for size in range(1, count + 1):
        for chosen in itertools.combinations(range(count), size):
            part = list(chosen)
            square = gram[np.ix_(part, part)]
            own = np.linalg.lstsq(square, moment[part], rcond=None)[0]
            gain = float(2 * own @ moment[part] - own @ square @ own)
            if (own >= 0).all() and gain > explained:
                explained, best = gain, np.zeros(count)
                best[part] = own
    return best

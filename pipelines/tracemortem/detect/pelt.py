"""Where the level of a series changes: the segmentation of least cost, by PELT.

Killick, Fearnhead and Eckley, Journal of the American Statistical Association 107, 2012.
"""

import numpy as np
from numpy.typing import NDArray


def changes(values: NDArray[np.float64], penalty: float, longest: int) -> list[int]:
    """The index at which each segment ends (exclusive), the last being values.size; [] of no values.

    values   finite, of about unit variance within a segment
    penalty  what a further segment must save in squared distance from the segments' means
    longest  a segment's values at most. Without a change nothing can be pruned, and the time would grow with
             the square of the series; a quiet series that is cut here and there reads the same

    Exact within that bound.
    """
    size = values.size
    sums = np.concatenate([[0.0], values.cumsum()])
    squares = np.concatenate([[0.0], (values**2).cumsum()])
    least = np.full(size + 1, -penalty, np.float64)
    before = np.zeros(size + 1, np.int64)
    open_ = np.zeros(1, np.int64)
    for end in range(1, size + 1):
        cost = least[open_] + squares[end] - squares[open_] - (sums[end] - sums[open_]) ** 2 / (end - open_)
        best = int(cost.argmin())
        least[end] = cost[best] + penalty
        before[end] = open_[best]
        open_ = np.append(open_[(cost <= least[end]) & (open_ > end - longest)], end)
    found, end = [], size
    while end:
        found.append(end)
        end = int(before[end])
    return found[::-1]

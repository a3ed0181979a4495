"""What is usual at a time of day: the latency quantile there on other days. Known from three days on."""

import numpy as np
from numpy.typing import NDArray

from tracemortem.detect import usual
from tracemortem.detect.arrivals import Arrivals

DAY_MINUTES = 1440
DAYS_LEAST = 3  # the day itself and two more: of one alone nothing says whether it was usual
# Minutes on each side that a time of day is pooled over: the first that mostly has the requests.
NEAR_MINUTES = (15, 30, 60)
MOSTLY = 0.75  # share of the blocks


def season(arrivals: Arrivals, quantile: float, block_minutes: int) -> NDArray[np.float64] | None:
    """The quantile usual at each minute's time of day (log seconds), from the other days recorded.

    block_minutes  grain
    returns        None if the grain does not divide a day, and unless MOSTLY times of day were recorded on
                   DAYS_LEAST days, with the requests that it takes to tell the quantile

    The lower median of the other days, so that an incident on one of two neither hides another nor makes one
    up. A level that drifts from day to day is not its business: what remains is compared with the hours
    around. A time of day recorded on fewer than two other days takes the value of the times beside it.
    """
    per_day, rest = divmod(DAY_MINUTES, block_minutes)
    if rest or arrivals.counts.size <= (DAYS_LEAST - 1) * DAY_MINUTES:
        return None
    every = np.ones(arrivals.counts.size, dtype=np.bool_)
    table = usual.histogram(arrivals, every, block_minutes)
    own = _about(table, quantile)
    if own is None:
        return None
    blocks = own.size
    by_day = np.pad(own, (0, -blocks % per_day), constant_values=np.nan).reshape(-1, per_day)
    found = np.concatenate([_lower_median(np.delete(by_day, day, axis=0)) for day in range(len(by_day))])
    known = np.flatnonzero(~np.isnan(found[:blocks]))
    if known.size < MOSTLY * blocks:
        return None
    whole = np.interp(np.arange(blocks), known, found[known])
    return usual.by_minute(whole, arrivals.counts.size, block_minutes)


def _about(table: usual.Histogram, quantile: float) -> NDArray[np.float64] | None:
    """The quantile about each block; NaN where that block's surroundings were hardly recorded."""
    blocks = table.counts.shape[0]
    block = np.arange(blocks)
    for minutes in NEAR_MINUTES:
        reach = round((minutes - table.block_minutes / 2) / table.block_minutes)
        pool = usual.between(
            table.counts, np.maximum(block - reach, 0), np.minimum(block + reach + 1, blocks)
        )
        ample = pool.sum(axis=1) * (1 - quantile) >= usual.EXPECTED
        if np.mean(ample) >= MOSTLY:
            return np.where(ample, table.quantile(pool, quantile), np.nan)
    return None


def _lower_median(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each column the median of what is known, of two the lower; NaN where fewer than two are known."""
    ordered = np.sort(rows, axis=0)  # NaN last
    known = np.count_nonzero(~np.isnan(rows), axis=0)
    middle = np.maximum(known - 1, 0) // 2
    found: NDArray[np.float64] = np.take_along_axis(ordered, middle[None], axis=0)[0]
    return np.where(known >= DAYS_LEAST - 1, found, np.nan)

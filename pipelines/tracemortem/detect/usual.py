"""What is usual: the latency quantile about each minute, from the quiet minutes near it.

Of latencies, or of what their season leaves of them (see season).
"""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tracemortem.detect.arrivals import Arrivals

# Width of a histogram bin in log seconds: 2 %, and quantiles are interpolated within it.
BIN = 0.02
# Quiet minutes that a pool needs, over its reach: a few stray ones amid a long spike are part of the spike.
QUIET = 1 / 3
# Requests expected beyond a quantile that is taken from a pool; fewer would make it a guess.
EXPECTED = 5


@dataclass(frozen=True)
class Histogram:
    """Log latencies of quiet minutes by block and bin.

    counts   requests, blocks x bins
    minutes  quiet minutes in each block
    low      lower edge of bin 0, log seconds
    """

    counts: NDArray[np.int64]
    minutes: NDArray[np.int64]
    low: float
    block_minutes: int

    def quantile(self, counts: NDArray[np.int64], quantile: float) -> NDArray[np.float64]:
        """The quantile of each row of counts (rows x bins), as log seconds; NaN for an empty row."""
        running = counts.cumsum(axis=1)
        wanted = quantile * running[:, -1]
        bin_no = (running >= wanted[:, None]).argmax(axis=1)
        row = np.arange(counts.shape[0])
        inside = counts[row, bin_no]
        below = running[row, bin_no] - inside
        share = np.divide(wanted - below, inside, out=np.full(row.size, np.nan), where=inside > 0)
        found: NDArray[np.float64] = self.low + BIN * (bin_no + share)
        return found


def histogram(arrivals: Arrivals, quiet: NDArray[np.bool_], block_minutes: int) -> Histogram:
    """The requests of quiet minutes by block and bin. quiet: one flag a minute."""
    low, high = float(arrivals.log_s.min()), float(arrivals.log_s.max())
    bins = int((high - low) / BIN) + 1
    blocks = -(-arrivals.counts.size // block_minutes)
    cell = arrivals.minute // block_minutes * bins + ((arrivals.log_s - low) / BIN).astype(np.int64)
    counted = np.bincount(cell[quiet[arrivals.minute]], minlength=blocks * bins)
    minutes = np.add.reduceat(quiet.astype(np.int64), np.arange(0, quiet.size, block_minutes))
    return Histogram(counted.reshape(blocks, bins), minutes, low, block_minutes)


def first_guess(table: Histogram, quantile: float, reach_minutes: int, rank: float) -> NDArray[np.float64]:
    """The usual quantile by block (log seconds) while nothing is known about which minutes are quiet.

    rank  0 to 1, which of the stretches within reach, ordered by their own quantile, is taken for usual: as
          long as less than 1 - rank of them is spike, it is a quiet one

    NaN where no stretch within reach has the requests.
    """
    reach = -(-reach_minutes // table.block_minutes)
    padded = np.pad(_own(table, quantile), reach, constant_values=np.nan)
    windows = sliding_window_view(padded, 2 * reach + 1)
    known = ~np.isnan(windows).all(axis=1)
    guess = np.full(table.minutes.size, np.nan)
    guess[known] = np.nanquantile(windows[known], rank, axis=1)
    return guess


def opening(table: Histogram, quantile: float, reach_minutes: int) -> NDArray[np.float64]:
    """The quantile of the first stretch that has one, by block (log seconds); infinite beyond its reach."""
    own = _own(table, quantile)
    found = np.full(own.size, np.inf)
    known = np.flatnonzero(~np.isnan(own))
    if known.size:
        found[: known[0] + 1 + -(-reach_minutes // table.block_minutes)] = own[known[0]]
    return found


def _own(table: Histogram, quantile: float) -> NDArray[np.float64]:
    """By block, the quantile of the stretch it is part of (log seconds); NaN of one with too few requests.

    A stretch is as many blocks as it takes for the quantile to be more than a maximum.
    """
    blocks = table.minutes.size
    for size in (1, 2, 3, 6):
        stretches = np.add.reduceat(table.counts, np.arange(0, blocks, size), axis=0)
        totals = stretches.sum(axis=1)
        if np.median(totals) * (1 - quantile) >= 3:
            break
    own = table.quantile(stretches, quantile)
    own[totals * (1 - quantile) < 1] = np.nan
    return np.repeat(own, size)[:blocks]


def local_quantile(table: Histogram, quantile: float, reach_minutes: int) -> NDArray[np.float64]:
    """The usual quantile by block (log seconds) from the pooled requests of the quiet minutes within reach.

    Pooled, not a median over minutes: with few requests a minute's own quantile is its maximum, whereas the
    share beyond a pooled quantile is what it should be at any volume. Where the pool is too small, in
    requests or because hardly a minute within reach was quiet, the reach doubles, until it is the whole
    recording. NaN everywhere if even that is too small.
    """
    blocks = table.counts.shape[0]
    reach = -(-reach_minutes // table.block_minutes)
    block = np.arange(blocks)
    found = np.full(blocks, np.nan)
    while True:
        todo = np.flatnonzero(np.isnan(found))
        above = np.minimum(block[todo] + reach + 1, blocks)
        below = np.maximum(block[todo] - reach, 0)
        pool = between(table.counts, below, above)
        requests = pool.sum(axis=1) * (1 - quantile)
        is_all = reach >= blocks
        ample = requests >= (1 if is_all else EXPECTED)
        if not is_all:
            ample &= between(table.minutes, below, above) >= QUIET * reach_minutes
        found[todo[ample]] = table.quantile(pool[ample], quantile)
        if is_all or not np.isnan(found).any():
            return found
        reach *= 2


def between(counts: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums over the blocks low to high - 1, one row for each pair."""
    running = np.concatenate([np.zeros((1, *counts.shape[1:]), np.int64), counts.cumsum(axis=0)])
    sums: NDArray[np.int64] = running[high] - running[low]
    return sums


def by_minute(blocks: NDArray[np.float64], minutes: int, block_minutes: int) -> NDArray[np.float64]:
    """Block values as a value a minute, straight lines between the middles of blocks."""
    middles = (np.arange(blocks.size) + 0.5) * block_minutes
    values: NDArray[np.float64] = np.interp(np.arange(minutes) + 0.5, middles, blocks)
    return values

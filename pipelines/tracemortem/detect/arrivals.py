"""The requests of one service as arrays, by the minute in which they arrived."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

MINUTE_US = 60_000_000
SHORTEST_S = 1e-6  # one tick of the clocks we read; a latency of 0 has no logarithm


@dataclass(frozen=True)
class Arrivals:
    """Requests of one service in order of arrival, without a long silence among them.

    at_us         arrival, microseconds since the epoch
    log_s         natural logarithm of the latency in seconds
    minute        index of the minute of arrival, counted from first_minute
    first_minute  minutes since the epoch
    counts        requests in each minute, 0 where none arrived
    is_latest     whether these are the service's last
    """

    service: str
    at_us: NDArray[np.int64]
    log_s: NDArray[np.float64]
    minute: NDArray[np.int64]
    first_minute: int
    counts: NDArray[np.int64]
    is_latest: bool

    def start_us(self, minute: int) -> int:
        """The start of a minute by its index, microseconds since the epoch."""
        return (self.first_minute + minute) * MINUTE_US

    def instant(self, minute: int) -> datetime:
        """The start of a minute by its index."""
        return utc(self.start_us(minute))

    def minute_of(self, at_us: int) -> int:
        """The index of the minute of an instant."""
        return at_us // MINUTE_US - self.first_minute

    def within(self, first: int, last: int) -> slice:
        """The requests that arrived in the minutes first to last - 1."""
        low, high = np.searchsorted(self.minute, (first, last))
        return slice(int(low), int(high))

    def count(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """For each minute, how many of its requests are flagged."""
        return np.bincount(self.minute[flags], minlength=self.counts.size)


def utc(at_us: int) -> datetime:
    """Microseconds since the epoch as an instant, exact."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)


def by_service(requests: pl.DataFrame, column: str, silence_minutes: float) -> Iterator[Arrivals]:
    """Each service's requests, services in alphabetical order.

    requests         columns service, started_at (UTC) and `column` (seconds); rows in any order; those in
                     which one of the three is not known, or the latency is negative, are left out
    silence_minutes  where this long passes without a request the service's requests are parted, so that one
                     request dated decades off does not stretch the recording to decades of minutes
    """
    known = (
        requests.lazy()
        .select(
            "service",
            pl.col("started_at").cast(pl.Datetime("us", "UTC")).to_physical().alias("at_us"),
            pl.col(column).cast(pl.Float64).alias("latency_s"),
        )
        .filter(pl.col("latency_s").is_finite() & (pl.col("latency_s") >= 0))
        .drop_nulls()
        .sort("service", "at_us", "latency_s")
        .collect()
    )
    for service_rows in known.partition_by("service", maintain_order=True):
        service = str(service_rows["service"][0])
        at_us = service_rows["at_us"].to_numpy()
        log_s = np.log(np.maximum(service_rows["latency_s"].to_numpy(), SHORTEST_S))
        starts = [
            0,
            *(np.flatnonzero(np.diff(at_us) >= silence_minutes * MINUTE_US) + 1).tolist(),
            at_us.size,
        ]
        for low, high in pairwise(starts):
            first = int(at_us[low]) // MINUTE_US
            minute = at_us[low:high] // MINUTE_US - first
            yield Arrivals(
                service=service,
                at_us=at_us[low:high],
                log_s=log_s[low:high],
                minute=minute,
                first_minute=first,
                counts=np.bincount(minute),
                is_latest=high == at_us.size,
            )

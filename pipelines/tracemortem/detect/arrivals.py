"""The requests of one service as arrays, by the minute in which they arrived."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracemortem.detect.watches import Watch

MINUTE_US = 60_000_000
MODELS = 20  # of a service that are looked at one by one
NEARLY = 0.95  # share of a service's requests from which on a model is as good as the service


@dataclass(frozen=True)
class Arrivals:
    """Requests of one service, or of one model there, in order of arrival, without a long silence among them.

    model         the only model asked for; None: whichever
    at_us         arrival, microseconds since the epoch
    log_s         natural logarithm of the latency in seconds
    is_cut        whether it was cut short, so that the latency is only the least it can have been
    minute        index of the minute of arrival, counted from first_minute
    first_minute  minutes since the epoch
    counts        requests in each minute, 0 where none arrived
    is_latest     whether these are the service's last
    ends_us       until when requests are known to have been recorded, microseconds since the epoch
    """

    service: str
    model: str | None
    at_us: NDArray[np.int64]
    log_s: NDArray[np.float64]
    is_cut: NDArray[np.bool_]
    minute: NDArray[np.int64]
    first_minute: int
    counts: NDArray[np.int64]
    is_latest: bool
    ends_us: int

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

    def only(self, flags: NDArray[np.bool_]) -> "Arrivals":
        """Those that are flagged; the minutes stay."""
        if flags.all():
            return self
        minute = self.minute[flags]
        return replace(
            self,
            at_us=self.at_us[flags],
            log_s=self.log_s[flags],
            is_cut=self.is_cut[flags],
            minute=minute,
            counts=np.bincount(minute, minlength=self.counts.size),
        )

    def count(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """For each minute, how many of its requests are flagged."""
        return np.bincount(self.minute[flags], minlength=self.counts.size)


def utc(at_us: int) -> datetime:
    """Microseconds since the epoch as an instant, exact."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)


def parts(at_us: NDArray[np.int64], watch: Watch) -> Iterator[tuple[int, int]]:
    """From and to of the requests between silences of day_reach_minutes or longer.

    at_us  arrivals in order, microseconds since the epoch

    What counts by minute looks at one part at a time, so that one request dated decades off does not stretch
    a recording to decades of minutes.
    """
    silence_us = watch.number("day_reach_minutes") * MINUTE_US
    return pairwise([0, *(np.flatnonzero(np.diff(at_us) >= silence_us) + 1).tolist(), at_us.size])


def by_service(requests: pl.DataFrame, watch: Watch) -> Iterator[Arrivals]:
    """Each service's requests, then those of each of its models; services and models in alphabetical order.

    requests  columns service, model, started_at (UTC), is_cut and watch.column (seconds); rows in any order;
              those in which service, time or latency is not known, or the latency is negative, are left out

    A model is looked at alone where it has requests enough to have a baseline, and is not nearly all of the
    service; of more than MODELS the largest. At long silences the requests are parted (see parts).
    """
    column = watch.column
    known = (
        requests.lazy()
        .select(
            "service",
            "model",
            pl.col("started_at").cast(pl.Datetime("us", "UTC")).to_physical().alias("at_us"),
            pl.col(column).cast(pl.Float64).alias("latency_s"),
            "is_cut",
        )
        .filter(pl.col("latency_s").is_finite() & (pl.col("latency_s") >= 0))
        .drop_nulls(("service", "at_us", "latency_s"))
        .sort("service", "at_us", "latency_s", "is_cut")
        .collect()
    )
    for rows in known.partition_by("service", maintain_order=True):
        yield from _parted(rows, None, watch)
        for model in _models(rows, watch):
            yield from _parted(rows.filter(pl.col("model") == model), model, watch)


def _models(rows: pl.DataFrame, watch: Watch) -> list[str]:
    """The models of a service that are worth a look of their own."""
    counts = rows.drop_nulls("model").group_by("model").len().sort("len", "model", descending=[True, False])
    worth = (pl.col("len") >= watch.number("quiet_requests_least")) & (pl.col("len") < NEARLY * rows.height)
    return sorted(counts.filter(worth)["model"].head(MODELS).to_list())


def _parted(rows: pl.DataFrame, model: str | None, watch: Watch) -> Iterator[Arrivals]:
    """The requests of one series between long silences."""
    at_us = rows["at_us"].to_numpy()
    latency_s = rows["latency_s"].to_numpy()
    log_s = np.log(np.maximum(latency_s, watch.floor_s))
    is_cut = rows["is_cut"].to_numpy()
    for low, high in parts(at_us, watch):
        first = int(at_us[low]) // MINUTE_US
        minute = at_us[low:high] // MINUTE_US - first
        is_latest = high == at_us.size
        yield Arrivals(
            service=str(rows["service"][0]),
            model=model,
            at_us=at_us[low:high],
            log_s=log_s[low:high],
            is_cut=is_cut[low:high],
            minute=minute,
            first_minute=first,
            counts=np.bincount(minute),
            is_latest=is_latest,
            # after the others hours were recorded in which nothing arrived
            ends_us=int((at_us + latency_s * 1e6).max()) if is_latest else int(at_us[high]),
        )

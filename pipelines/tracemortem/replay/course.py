"""The course of the latency as recorded and as replayed, for a reader who wants to see whether they agree."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from tracemortem.replay.recorded import Floats, Requests

_MINUTE_S = 60


def course(made: Requests, total_s: Floats, origin_s: float) -> pl.DataFrame:
    """P99 by minute of arrival, of all requests that were replayed.

    total_s   latency replayed, shape (n,); nan where a request fits into no engine
    origin_s  seconds since 1970 at which the requests' times begin, a whole minute
    returns   minute (UTC), requests, recorded_p99_s, replayed_p99_s (null where nothing was), in order
    """
    replayed = pl.Series(total_s, nan_to_null=True)
    origin = datetime.fromtimestamp(origin_s, UTC)
    minute = pl.Series((made.started // _MINUTE_S).astype(np.int64))
    return (
        pl.DataFrame({"minute": minute, "recorded": made.total, "replayed": replayed})
        .group_by("minute")
        .agg(
            pl.len().cast(pl.Int64).alias("requests"),
            pl.col("recorded").quantile(0.99, "linear").alias("recorded_p99_s"),
            pl.col("replayed").quantile(0.99, "linear").alias("replayed_p99_s"),
        )
        .sort("minute")
        .with_columns(
            minute=(pl.lit(origin) + pl.col("minute") * timedelta(seconds=_MINUTE_S)).cast(
                pl.Datetime("us", "UTC")
            )
        )
    )

"""A window that the user gives: a spike by decree, compared with the quiet time before it."""

from datetime import datetime, timedelta

import polars as pl

from tracemortem.detect.watches import Watch
from tracemortem.errors import SettingError
from tracemortem.incident import Spike

_LEAST_REQUESTS = 20  # of a service in window and baseline, below which a 99th percentile is its maximum


def given(requests: pl.DataFrame, watch: Watch, start: datetime, end: datetime) -> list[Spike]:
    """The service whose P99 rose most between the minutes before the window and the window itself.

    requests  columns service, started_at (UTC) and watch.column (s)
    returns   one spike, confirmed since the user says so
    raises    SettingError if no service has requests enough in the window, and before or after it
    """
    first, last = _minute(start), _minute(end - timedelta(microseconds=1)) + timedelta(minutes=1)
    quiet = timedelta(minutes=watch.number("quiet_minutes"))
    during = _p99(requests, watch, first, last)
    for side, begins, ends in (("before", first - quiet, first), ("after", last, last + quiet)):
        other = _p99(requests, watch, begins, ends)
        both = during.join(other, on="service", suffix="_usual").sort(
            pl.col("p99") / pl.col("p99_usual"), pl.col("service"), descending=[True, False]
        )
        if both.height:
            row = both.to_dicts()[0]
            usual_from = max(begins, _minute(row["first_usual"]))
            usual_to = min(ends, _minute(row["last_usual"]) + timedelta(minutes=1))
            minutes = int((usual_to - usual_from).total_seconds() // 60)
            return [
                Spike(
                    service=row["service"],
                    status="confirmed",
                    start=first,
                    end=last,
                    onset_earliest=first,
                    onset_latest=first,
                    metric=f"{watch.name}_p99",
                    baseline_start=usual_from,
                    baseline_end=usual_to,
                    baseline_from=f"the {minutes} minutes {side} the window that was given",
                    reason="the window was given, not found",
                )
            ]
    raise SettingError(
        "the window cannot be compared with anything",
        where=f"--window {start.isoformat()}/{end.isoformat()}",
        why=f"no service has {_LEAST_REQUESTS} requests in it and as many in the time before or after",
        fix="give a window inside the recording, with some minutes of usual traffic beside it",
    )


def _p99(requests: pl.DataFrame, watch: Watch, begins: datetime, ends: datetime) -> pl.DataFrame:
    return (
        requests.filter(pl.col("started_at").is_between(begins, ends, closed="left"))
        .group_by("service")
        .agg(
            pl.col(watch.column).quantile(0.99, "linear").alias("p99"),
            pl.col("started_at").min().alias("first"),
            pl.col("started_at").max().alias("last"),
            pl.len().alias("requests"),
        )
        .filter((pl.col("requests") >= _LEAST_REQUESTS) & (pl.col("p99") > 0))
    )


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)

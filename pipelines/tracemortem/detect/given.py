"""A window that the user gives: a spike by decree, compared with the quiet time before it."""

from datetime import datetime, timedelta

import polars as pl

from tracemortem.detect.watches import Watch
from tracemortem.errors import SettingError
from tracemortem.incident import Spike

_LEAST_REQUESTS = 20  # of a service in window and baseline, below which a 99th percentile is its maximum


def given(requests: pl.DataFrame, watch: Watch, start: datetime, end: datetime) -> list[Spike]:
    """The service whose latency rose most between the minutes before the window and the window itself.

    requests  columns service, started_at (UTC) and watch.column (s)
    returns   one spike of whole minutes, named after the highest quantile that rose by candidate_ratio:
              confirmed, since the user says so; a candidate if none did, as there is nothing to explain
    raises    SettingError if no service has requests enough in the window, and before or after it
    """
    first, last = _minute(start), _minute(end - timedelta(microseconds=1)) + timedelta(minutes=1)
    quiet = timedelta(minutes=watch.number("quiet_minutes"))
    least = watch.number("candidate_ratio")
    during = _quantiles(requests, watch, first, last)
    for side, begins, ends in (("before", first - quiet, first), ("after", last, last + quiet)):
        other = _quantiles(requests, watch, begins, ends)
        both = (
            during.join(other, on=["service", "quantile"], suffix="_usual")
            .with_columns(ratio=pl.col("seconds") / pl.col("seconds_usual"))
            .sort(
                pl.col("ratio").max().over("service"),
                "service",
                pl.col("ratio") >= least,
                "quantile",
                descending=[True, False, True, True],
            )
        )
        if both.is_empty():
            continue
        row = both.row(0, named=True)
        name = f"p{row['quantile'] * 100:g}"
        is_risen = row["ratio"] >= least
        shortfall = "" if is_risen else f"; with less than {least:g} times there is nothing to explain"
        usual_from = max(begins, _minute(row["first_usual"]))
        usual_to = min(ends, _minute(row["last_usual"]) + timedelta(minutes=1))
        minutes = int((usual_to - usual_from).total_seconds() // 60)
        return [
            Spike(
                service=row["service"],
                status="confirmed" if is_risen else "candidate",
                start=first,
                end=last,
                onset_earliest=first,
                onset_latest=first,
                metric=f"{watch.name}_{name}",
                baseline_start=usual_from,
                baseline_end=usual_to,
                baseline_from=f"the {minutes} minutes {side} the window that was given",
                reason=(
                    f"the window was given, not found; {name} in it was {row['seconds']:.3g} s, "
                    f"{row['ratio']:.2f} times what it was {side}{shortfall}"
                ),
            )
        ]
    raise SettingError(
        "the window cannot be compared with anything",
        where=f"--window {start:%FT%TZ}/{end:%FT%TZ}",
        why=f"no service has {_LEAST_REQUESTS} requests in it and as many in the time before or after",
        fix="give a window inside the recording, with some minutes of usual traffic beside it",
    )


def _quantiles(requests: pl.DataFrame, watch: Watch, begins: datetime, ends: datetime) -> pl.DataFrame:
    """One row a service with requests enough and quantile: seconds, and when its first and last arrived."""
    within = requests.filter(pl.col("started_at").is_between(begins, ends, closed="left"))
    return pl.concat(
        within.group_by("service")
        .agg(
            pl.lit(quantile).alias("quantile"),
            pl.col(watch.column).quantile(quantile, "linear").alias("seconds"),
            pl.col("started_at").min().alias("first"),
            pl.col("started_at").max().alias("last"),
            pl.len().alias("requests"),
        )
        .filter((pl.col("requests") >= _LEAST_REQUESTS) & (pl.col("seconds") > 0))
        for quantile in watch.quantiles
    )


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)

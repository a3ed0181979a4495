"""A window that the user gives: a spike by decree, compared with the quiet time beside it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import polars as pl

from tracemortem.detect.watches import Watch
from tracemortem.errors import SettingError
from tracemortem.incident import Spike

_NEVER = datetime.max.replace(tzinfo=UTC)
_LEAST_REQUESTS = 20  # of a service in window and baseline, below which a 99th percentile is its maximum


def given(
    requests: pl.DataFrame,
    watch: Watch,
    start: datetime,
    end: datetime,
    busy: Sequence[Spike] = (),
    usual: tuple[datetime, datetime] | None = None,
) -> list[Spike]:
    """The one spike of a window that the user gives (see compared).

    raises    SettingError if no service has requests enough in the window, and before or after it
    """
    spike = compared(requests, watch, start, end, busy, usual)
    if spike is None:
        raise SettingError(
            "the window cannot be compared with anything",
            where=f"--window {start:%FT%TZ}/{end:%FT%TZ}",
            why=f"no service has {_LEAST_REQUESTS} requests in it and as many in the time before or after",
            fix="give a window inside the recording, with some minutes of usual traffic beside it",
        )
    return [spike]


def compared(
    requests: pl.DataFrame,
    watch: Watch,
    start: datetime,
    end: datetime,
    busy: Sequence[Spike] = (),
    usual: tuple[datetime, datetime] | None = None,
) -> Spike | None:
    """The service whose latency rose most between the quiet minutes beside the window and the window itself.

    requests  columns service, started_at (UTC) and watch.column (s)
    busy      spikes that were found: no time to compare with
    usual     from and to of the time to compare with; None: what lies beside the window
    returns   one spike of whole minutes, named after the highest quantile that rose by candidate_ratio:
              confirmed, since the user says so; a candidate if none did, as there is nothing to explain.
              None if no service has requests enough in the window, and before or after it
    """
    first, last = _minute(start), _minute(end - timedelta(microseconds=1)) + timedelta(minutes=1)
    quiet = timedelta(minutes=watch.number("quiet_minutes"))
    least = watch.number("candidate_ratio")
    during = _quantiles(_within(requests, first, last), watch)
    sides = [("before", _before), ("after", _after)]
    if usual is not None:
        sides = [("in the time beside", lambda busy, first, last, quiet: usual)]
    for side, beside in sides:
        free = [
            _within(own, *beside([spike for spike in busy if spike.service == name], first, last, quiet))
            for (name,), own in requests.group_by("service", maintain_order=True)
        ]
        if not free:
            return None
        both = (
            during.join(_quantiles(pl.concat(free), watch), on=["service", "quantile"], suffix="_usual")
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
        has_risen = row["ratio"] >= least
        shortfall = "" if has_risen else f"; with less than {least:g} times there is nothing to explain"
        usual_from = _minute(row["first_usual"])
        usual_to = _minute(row["last_usual"]) + timedelta(minutes=1)
        minutes = int((usual_to - usual_from).total_seconds() // 60)
        return Spike(
            service=row["service"],
            status="confirmed" if has_risen else "candidate",
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
            is_given=True,
            has_risen=has_risen,
        )
    return None


def _before(
    busy: Sequence[Spike], first: datetime, last: datetime, quiet: timedelta
) -> tuple[datetime, datetime]:
    """The minutes before a window, up to `quiet` of them, that lie in no spike."""
    ends = min([first, *(spike.start for spike in busy if spike.end is None or spike.end > first)])
    return max([ends - quiet, *(spike.end for spike in busy if spike.end and spike.end <= ends)]), ends


def _after(
    busy: Sequence[Spike], first: datetime, last: datetime, quiet: timedelta
) -> tuple[datetime, datetime]:
    """The minutes after a window, up to `quiet` of them, that lie in no spike."""
    running = [spike for spike in busy if spike.start < last and (spike.end is None or spike.end > last)]
    begins = max([last, *(spike.end or _NEVER for spike in running)])
    ends = min([begins + quiet if begins < _NEVER else begins, *(s.start for s in busy if s.start >= begins)])
    return begins, ends


def _within(requests: pl.DataFrame, begins: datetime, ends: datetime) -> pl.DataFrame:
    return requests.filter(pl.col("started_at").is_between(begins, ends, closed="left"))


def _quantiles(requests: pl.DataFrame, watch: Watch) -> pl.DataFrame:
    """One row a service with requests enough and quantile: seconds, and when its first and last arrived."""
    return pl.concat(
        requests.group_by("service")
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

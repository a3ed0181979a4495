"""Quiet stretches of a recording as long as an incident: what is blamed there, is blamed for nothing."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracemortem.detect.arrivals import MINUTE_US, parts, utc
from tracemortem.detect.baseline import runs
from tracemortem.detect.watches import Watch
from tracemortem.incident import Spike

Busy = tuple[str, datetime, datetime | None]
_MINUTE = timedelta(minutes=1)


def quiet_stretches(
    requests: pl.DataFrame,
    spikes: Sequence[Spike],
    busy: Sequence[Busy],
    watch: Watch,
    settings: Mapping[str, float],
) -> list[Spike]:
    """For each service with confirmed incidents, stretches as long as the shortest of them that are none.

    requests  columns service and started_at (UTC)
    busy      service, from and to (None: still going on) of all that was not as usual; the margin around it
              is merge_minutes, within which two stretches would be one incident
    settings  placebo_stretches (thresholds.yaml), shared by the services
    returns   by service and start, with the status `quiet`; none where there is no room

    They are cut one after the other, so that none shares a minute with another; where there are more than are
    wanted, those spread most evenly are taken. Each has the quiet minutes before it for its baseline, as long
    and as full as one of an incident is at least (quiet_minutes_least, quiet_requests_least). Baselines may
    share minutes. As the shortest incident, since less time varies more.
    """
    confirmed = [spike for spike in spikes if spike.status == "confirmed"]
    services = sorted({spike.service for spike in confirmed})
    found: list[Spike] = []
    for service in services:
        own = requests.filter(pl.col("service") == service)["started_at"].sort()
        if own.is_empty():  # of its requests it is known that they failed, not how long they took
            continue
        length = min(_minutes(spike, own) for spike in confirmed if spike.service == service)
        stretches = list(_cut(own, service, length, [one for one in busy if one[0] == service], watch))
        most = int(settings["placebo_stretches"]) // len(services)
        if len(stretches) > most:
            at = np.linspace(0, len(stretches) - 1, most).round().astype(int)
            stretches = [stretches[one] for one in at]
        found += stretches
    return found


def _minutes(spike: Spike, arrivals: pl.Series) -> int:
    end: datetime = spike.end or arrivals[-1]
    return max(round((end - spike.start) / _MINUTE), 1)


def _cut(
    arrivals: pl.Series, service: str, length: int, busy: Sequence[Busy], watch: Watch
) -> Iterator[Spike]:
    at_us = arrivals.cast(pl.Datetime("us", "UTC")).to_physical().to_numpy()
    for begins, ends in parts(at_us, watch):
        minute = at_us[begins:ends] // MINUTE_US
        origin = utc(int(minute[0]) * MINUTE_US)
        counts = np.bincount(minute - minute[0]).astype(np.int64)
        for first, last in runs(_quiet(counts, origin, busy, watch)):
            at = first + _lead(counts[first:last], watch)
            # the first and the last minute of a recording are cut off
            while at + length < last or (at + length == last < counts.size):
                low = max(first, at - int(watch.number("quiet_minutes")))
                yield _stretch(service, origin, (low, at, at + length), int(counts[low:at].sum()))
                at += length


def _quiet(
    counts: NDArray[np.int64], origin: datetime, busy: Sequence[Busy], watch: Watch
) -> NDArray[np.bool_]:
    """By minute: neither near anything unusual nor in a silence, after which nothing ties two minutes."""
    quiet = np.ones(counts.size, dtype=np.bool_)
    margin = int(watch.number("merge_minutes"))
    for _, begins, ends in busy:
        low = int((begins - origin) // _MINUTE) - margin
        high = counts.size if ends is None else -int((origin - ends) // _MINUTE) + margin
        quiet[max(low, 0) : max(high, 0)] = False
    for first, last in runs(counts == 0):
        if last - first >= watch.number("silence_minutes"):
            quiet[first:last] = False
    return quiet


def _lead(counts: NDArray[np.int64], watch: Watch) -> int:
    """How many of the minutes a baseline takes at least; all of them where they do not make one."""
    enough = np.flatnonzero(np.cumsum(counts) >= watch.number("quiet_requests_least"))
    if not enough.size:
        return counts.size
    return max(int(enough[0]) + 1, int(watch.number("quiet_minutes_least")))


def _stretch(service: str, origin: datetime, bounds: tuple[int, int, int], requests: int) -> Spike:
    low, first, last = bounds
    baseline_start, start, end = (origin + minute * _MINUTE for minute in bounds)
    return Spike(
        service=service,
        status="quiet",
        start=start,
        end=end,
        onset_earliest=start,
        onset_latest=start,
        metric="",
        baseline_start=baseline_start,
        baseline_end=start,
        baseline_from=f"the {first - low} quiet minutes before it ({requests:,} requests)",
        reason=f"{last - first} quiet minutes",
        has_risen=False,
    )

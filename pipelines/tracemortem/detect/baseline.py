"""The stretch of quiet minutes that a spike is compared with, and why that one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracemortem.detect.watches import Watch
from tracemortem.errors import SettingError
from tracemortem.incident import Spike

_DAY = 1440
_EARLIER = (7, 1, 2, 3, 4, 5, 6)  # days: the same day of the week is the most alike, then the nearest


@dataclass(frozen=True)
class Baseline:
    """Minutes first to last - 1, and a sentence on where they come from."""

    first: int
    last: int
    said: str


def baseline(
    counts: NDArray[np.int64], quiet: NDArray[np.bool_], *, begins: int, ends: int, watch: Watch
) -> Baseline:
    """The quiet minutes nearest before a spike, else at the same time on an earlier day, else nearest after.

    Where none of them is ample, the most there are.

    counts   requests by minute
    quiet    minutes in no stretch and no spike
    begins   the first minute that may belong to the spike, its onset's interval included
    ends     the first quiet minute after it; counts.size when there is none
    """
    longest = int(watch.number("quiet_minutes"))
    reach = int(watch.number("baseline_reach_minutes"))
    before = [(max(first, last - longest), last) for first, last in reversed(runs(quiet[:begins]))]
    after = [(ends + first, ends + min(last, first + longest)) for first, last in runs(quiet[ends:])]
    near = [run for run in before if run[1] >= begins - reach]
    later = [run for run in after if run[0] <= ends + reach]
    sides = [
        ("before the spike", near),
        *((_ago(days), _earlier(quiet, begins, ends, days * _DAY)) for days in _EARLIER),
        ("after the spike", later),
    ]
    for side, choices in sides:
        for first, last in choices:
            requests = int(counts[first:last].sum())
            if last - first >= watch.number("quiet_minutes_least") and requests >= watch.number(
                "quiet_requests_least"
            ):
                said = f"the {last - first} quiet minutes {side} ({requests:,} requests)"
                if choices is not near:
                    said += ", since too little was recorded before it"
                return Baseline(first, last, said)
    return _meagre(counts, before + after)


def stated(
    spikes: Sequence[Spike], requests: pl.DataFrame, usual: tuple[datetime, datetime], watch: Watch
) -> list[Spike]:
    """The spikes, compared with a time that the user sets.

    requests  columns service and started_at (UTC)
    usual     its from and to
    raises    SettingError if a service that has a spike has too few requests in that time
    """
    start, end = usual
    within = requests.filter(pl.col("started_at").is_between(start, end, closed="left"))
    least = int(watch.number("confirmed_requests"))
    for service in dict.fromkeys(spike.service for spike in spikes):
        if within.filter(pl.col("service") == service).height < least:
            raise SettingError(
                f"{service} cannot be compared with the baseline that was set",
                where=f"--baseline {start:%FT%TZ}/{end:%FT%TZ}",
                why=f"fewer than {least} of its requests lie there",
                fix="give a time inside the recording in which the service was at work as usual",
            )
    said = "the time set with --baseline"
    return [replace(spike, baseline_start=start, baseline_end=end, baseline_from=said) for spike in spikes]


def _ago(days: int) -> str:
    return f"at the same time {days} days earlier" if days > 1 else "at the same time the day before"


def _earlier(quiet: NDArray[np.bool_], begins: int, ends: int, ago: int) -> list[tuple[int, int]]:
    """The quiet runs among the same minutes of an earlier day, the longest first."""
    first = max(begins - ago, 0)
    found = [(first + low, first + high) for low, high in runs(quiet[first : max(ends - ago, 0)])]
    return sorted(found, key=lambda run: (run[0] - run[1], run[0]))


def _meagre(counts: NDArray[np.int64], choices: list[tuple[int, int]]) -> Baseline:
    """The run with most requests, where none is ample; the whole recording where none is quiet."""
    if not choices:
        return Baseline(0, counts.size, "the whole recording, since no minute of it was quiet")
    first, last = max(choices, key=lambda run: int(counts[run[0] : run[1]].sum()))
    requests = int(counts[first:last].sum())
    return Baseline(
        first, last, f"only {last - first} quiet minutes with {requests:,} requests, the most there are"
    )


def runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The runs of true flags, as first and last (exclusive), in order."""
    steps = np.flatnonzero(np.diff(flags.astype(np.int8), prepend=0, append=0))
    return [(int(first), int(last)) for first, last in steps.reshape(-1, 2)]

"""Requests -> spikes: stretches in which a service's latency stood far above what is usual for it."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracemortem.detect.arrivals import Arrivals, by_service, utc
from tracemortem.detect.baseline import baseline
from tracemortem.detect.stretches import find
from tracemortem.detect.verdict import Verdict, judge
from tracemortem.detect.watches import Watch
from tracemortem.detect.windows import Window, windows
from tracemortem.incident import Spike


def spikes(requests: pl.DataFrame, watch: Watch) -> list[Spike]:
    """The spikes of every service, by start and service.

    requests  columns service, started_at (UTC) and watch.column (seconds; without client errors, with
              timeouts), in any order; requests whose service, time or latency is not known are left out
    returns   one spike for all that the quantiles of a service show at the same time; those of one service
              are apart

    A binomial scan of the requests beyond the usual quantile of their time (see scan), which is taken from
    the quiet hours around (see usual). So a daily swing to three times the night's latency may be taken for a
    spike, and what lasts for half of its day or longer for usual.
    """
    parted = by_service(requests, watch.column, watch.number("day_reach_minutes"))
    found = [spike for arrivals in parted for spike in _of(arrivals, watch)]
    return sorted(found, key=lambda spike: (spike.start, spike.service))


def _of(arrivals: Arrivals, watch: Watch) -> list[Spike]:
    """The spikes of one service between long silences."""
    findings = find(arrivals, watch)
    found = windows(arrivals, watch, findings.levels, findings.stretches)
    quiet = findings.quiet.copy()
    for window in found:
        quiet[window.first : window.last] = False
    judged = [(window, judge(arrivals, watch, findings.levels, window)) for window in found]
    return [
        _spike(arrivals, watch, window, verdict, quiet) for window, verdict in judged if verdict is not None
    ]


def _spike(
    arrivals: Arrivals, watch: Watch, window: Window, verdict: Verdict, quiet: NDArray[np.bool_]
) -> Spike:
    """A window in the words that rooms share."""
    begins = min(arrivals.minute_of(window.began.earliest_us), window.first)
    ends, reason = window.last, verdict.reason
    if window.is_cut:
        reason += "; it was under way when the recording began"
    is_open = window.recovered is None and arrivals.is_latest
    if window.recovered is None:
        what = "the recording ended" if is_open else "the requests ceased for hours"
        reason += f"; it was still going on when {what}"
    else:
        ends = max(ends, min(arrivals.minute_of(window.recovered.latest_us) + 1, arrivals.counts.size))
    beside = baseline(arrivals.counts, quiet, begins=begins, ends=ends, watch=watch)
    return Spike(
        service=arrivals.service,
        status=verdict.status,
        start=arrivals.instant(window.first),
        end=None if is_open else arrivals.instant(window.last),
        onset_earliest=utc(window.began.earliest_us),
        onset_latest=utc(window.began.latest_us),
        metric=f"{watch.name}_p{verdict.quantile * 100:g}",
        baseline_start=arrivals.instant(beside.first),
        baseline_end=arrivals.instant(beside.last),
        baseline_from=beside.said,
        reason=reason,
    )

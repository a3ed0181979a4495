"""Requests -> spikes: stretches in which a service's latency stood far above what is usual for it."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracemortem.detect.arrivals import Arrivals, by_service, utc
from tracemortem.detect.baseline import baseline
from tracemortem.detect.scan import Stretch
from tracemortem.detect.shifts import shifts
from tracemortem.detect.stretches import Findings, find
from tracemortem.detect.verdict import Verdict, judge
from tracemortem.detect.watches import Watch
from tracemortem.detect.windows import Window, windows
from tracemortem.incident import Spike


def spikes(requests: pl.DataFrame, watch: Watch) -> list[Spike]:
    """The spikes of every service and of each of its models, by start, service and model.

    requests  columns service, model, started_at (UTC), is_cut (the latency is only the least it can have
              been) and watch.column (seconds; without client errors, with timeouts), in any order; requests
              whose service, time or latency is not known are left out
    returns   one spike for all that the quantiles of a service show at the same time; those of one service
              are apart, as are those of one of its models

    Two methods look: a binomial scan of the requests beyond the usual quantile of their time (see scan), and
    change points of the quantile itself (see shifts). What both show is confirmed if the numbers of the watch
    agree, what one shows is a candidate. Usual is what other days show at that time where three were recorded
    (see season), else what the quiet hours around show (see usual). So in a shorter recording a daily swing
    to three times the night's latency may be taken for a spike, and what lasts for half of its day or longer
    for usual.
    """
    found = [spike for arrivals in by_service(requests, watch) for spike in _of(arrivals, watch)]
    return sorted(found, key=lambda spike: (spike.start, spike.service, spike.model or ""))


def _of(arrivals: Arrivals, watch: Watch) -> list[Spike]:
    """The spikes of one service, or one of its models, between long silences."""
    findings = find(arrivals, watch)
    shifted = [shift for level in findings.levels.values() for shift in shifts(watch, level, findings.quiet)]
    apart = int(watch.number("merge_minutes"))
    alone = [one for one in shifted if not any(one.is_near(scanned, apart) for scanned in findings.stretches)]
    every = sorted([*findings.stretches, *alone], key=lambda s: (s.first, s.last, s.quantile))
    found = windows(arrivals, watch, findings.levels, every)
    quiet = findings.quiet.copy()
    for window in found:
        quiet[window.first : window.last] = False
    judged = [
        (window, judge(watch, findings.levels, window, _disputed(window, findings, shifted)))
        for window in found
    ]
    return [
        _spike(arrivals, watch, window, verdict, quiet) for window, verdict in judged if verdict is not None
    ]


def _disputed(window: Window, findings: Findings, shifted: list[Stretch]) -> str | None:
    """Which of the two methods does not see a spike there, as a shortfall; None if both do."""
    if not any(stretch in findings.stretches for stretch in window.stretches):
        return "the scan of slow requests sees no spike there"
    if not any(one.first < window.last and window.first < one.last for one in shifted):
        return "no quantile moved and stayed"
    return None


def _spike(
    arrivals: Arrivals, watch: Watch, window: Window, verdict: Verdict, quiet: NDArray[np.bool_]
) -> Spike:
    """A window in the words that rooms share."""
    begins = min(arrivals.minute_of(window.began.earliest_us), window.first)
    ends, reason = window.last, verdict.reason
    if arrivals.model is not None:
        reason = f"of model {arrivals.model} alone: {reason}"
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
        model=arrivals.model,
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

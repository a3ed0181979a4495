"""Requests -> spikes: stretches in which a service's latency stood far above what is usual for it."""

import polars as pl

from tracemortem.detect.arrivals import Arrivals, by_service
from tracemortem.detect.scan import Stretch
from tracemortem.detect.shifts import shifts
from tracemortem.detect.stretches import Findings, find
from tracemortem.detect.told import told
from tracemortem.detect.verdict import judge
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
    for usual. What a recording begins with is taken for usual in its first hours, so that an incident which
    is most of a short recording is found; where it began within the incident, at most half of it may be one.
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
        told(
            arrivals,
            watch,
            window,
            quiet,
            status=verdict.status,
            metric=f"{watch.name}_p{verdict.quantile * 100:g}",
            reason=verdict.reason,
        )
        for window, verdict in judged
        if verdict is not None
    ]


def _disputed(window: Window, findings: Findings, shifted: list[Stretch]) -> str | None:
    """Which of the two methods does not see a spike there, as a shortfall; None if both do."""
    if not any(stretch in findings.stretches for stretch in window.stretches):
        return "the scan of slow requests sees no spike there"
    if not any(one.first < window.last and window.first < one.last for one in shifted):
        return "no quantile moved and stayed"
    return None

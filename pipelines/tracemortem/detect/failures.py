"""Requests -> spikes of failure: stretches in which more of a service's requests fail than is usual for it.

They need no latency: a service that refuses at once is quick. The methods are those for latency, with the
share of failed requests in the place of the share of slow ones.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracemortem.detect.arrivals import Arrivals, by_service
from tracemortem.detect.levels import Level
from tracemortem.detect.scan import Stretch, overdispersion, scan
from tracemortem.detect.shifts import raised
from tracemortem.detect.stretches import ROUNDS, outside
from tracemortem.detect.told import told
from tracemortem.detect.watches import Watch
from tracemortem.detect.windows import Window, windows
from tracemortem.incident import Spike

METRIC = "error_rate"
USUAL = "over the quiet minutes recorded"


def failures(requests: pl.DataFrame, watch: Watch) -> list[Spike]:
    """The spikes of failure of every service, by start and service.

    requests  columns service, started_at (UTC) and is_failed, of all requests whose fate is known
    watch     for its numbers
    """
    alike = requests.select(
        "service",
        "started_at",
        pl.lit(None, pl.String).alias("model"),
        pl.lit(1.0).alias(watch.column),
        pl.col("is_failed").alias("is_cut"),
    )
    found = [spike for arrivals in by_service(alike, watch) for spike in _of(arrivals, watch)]
    return sorted(found, key=lambda spike: (spike.start, spike.service))


def _of(arrivals: Arrivals, watch: Watch) -> list[Spike]:
    """The spikes of one service between long silences, of requests whose failures are flagged as cut."""
    if not arrivals.is_cut.any():
        return []
    quiet = np.ones(arrivals.counts.size, dtype=np.bool_)
    for _ in range(ROUNDS):
        level = _level(arrivals, watch, quiet)
        stretches = scan(
            level.slow,
            arrivals.counts,
            quantile=level.quantile,
            odds=watch.odds,
            noise=level.noise,
            evidence=watch.number("evidence"),
            silence_minutes=int(watch.number("silence_minutes")),
        )
        before, quiet = quiet, outside(stretches, quiet.size)
        if np.array_equal(before, quiet):
            break
    found = windows(arrivals, watch, {level.quantile: level}, stretches)
    apart = quiet & outside(
        [Stretch(window.first, window.last, 0, level.quantile, 1) for window in found], quiet.size
    )
    shifted = _shifted(level, watch, quiet)
    return [spike for window in found for spike in _judged(level, watch, window, shifted, apart)]


def _level(arrivals: Arrivals, watch: Watch, quiet: NDArray[np.bool_]) -> Level:
    """The usual share of failed requests, as a quantile that they are beyond."""
    failed = arrivals.count(arrivals.is_cut)
    requests = int(arrivals.counts[quiet].sum())
    usual = watch.number("failure_share_usual")
    if requests:
        usual = max(usual, float(failed[quiet].sum()) / requests)
    return Level(
        quantile=1 - usual,
        is_decided=np.ones(arrivals.at_us.size, dtype=np.bool_),
        arrivals=arrivals,
        excess=np.where(arrivals.is_cut, 1.0, -1.0),
        is_slow=arrivals.is_cut,
        slow=failed,
        noise=overdispersion(failed * quiet, arrivals.counts * quiet, usual, is_first=False),
        usual_from=USUAL,
    )


def _shifted(level: Level, watch: Watch, quiet: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where the share of failed requests moved and stayed."""
    minutes = np.flatnonzero(level.arrivals.counts)
    share = level.slow[minutes] / level.arrivals.counts[minutes] - (1 - level.quantile)
    return raised(minutes, minutes, share, quiet[minutes], watch, watch.number("failure_share_least"))


def _judged(
    level: Level, watch: Watch, window: Window, shifted: list[tuple[int, int]], quiet: NDArray[np.bool_]
) -> list[Spike]:
    """The window as a spike with its verdict; nothing if failures are too few to matter."""
    counts, failed = (each[window.first : window.last] for each in (level.arrivals.counts, level.slow))
    requests, usual = int(counts.sum()), 1 - level.quantile
    share = int(failed.sum()) / max(requests, 1)
    least = watch.number("failure_share_least")
    if share - usual < least:
        return []
    minutes = int(np.count_nonzero(failed >= np.maximum((usual + least) * counts, 1)))
    shortfalls = []
    if sum(one.evidence for one in window.stretches) < watch.number("confirmed_evidence"):
        shortfalls.append("noise alone comes that far now and then")
    if requests < watch.number("confirmed_requests"):
        shortfalls.append(f"fewer than {watch.number('confirmed_requests'):g} requests prove little")
    if minutes < watch.number("confirmed_minutes"):
        shortfalls.append(f"an incident has {watch.number('confirmed_minutes'):g} such minutes or more")
    if not any(first < window.last and window.first < last for first, last in shifted):
        shortfalls.append("the share of failures did not move and stay")
    reason = (
        f"{share:.1%} of {requests:,} requests failed (5xx, or the client gave up), "
        f"where {usual:.1%} are usual {level.usual_from}; "
        f"so it was in {minutes} of {window.last - window.first} minutes"
    )
    if shortfalls:
        reason += f"; but {' and '.join(shortfalls)}"
    status = "candidate" if shortfalls else "confirmed"
    return [told(level.arrivals, watch, window, quiet, status=status, metric=METRIC, reason=reason)]

"""A window in the words that rooms share: when it was, what it is compared with, and why it counts."""

import numpy as np
from numpy.typing import NDArray

from tracemortem.detect.arrivals import Arrivals, utc
from tracemortem.detect.baseline import baseline
from tracemortem.detect.watches import Watch
from tracemortem.detect.windows import Window
from tracemortem.incident import Spike


def told(
    arrivals: Arrivals,
    watch: Watch,
    window: Window,
    quiet: NDArray[np.bool_],
    *,
    status: str,
    metric: str,
    reason: str,
) -> Spike:
    """The window as a spike.

    quiet  one flag a minute: in no stretch and no window
    """
    begins = min(arrivals.minute_of(window.began.earliest_us), window.first)
    ends = window.last
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
        status=status,
        start=arrivals.instant(window.first),
        end=None if is_open else arrivals.instant(window.last),
        onset_earliest=utc(window.began.earliest_us),
        onset_latest=utc(window.began.latest_us),
        metric=metric,
        baseline_start=arrivals.instant(beside.first),
        baseline_end=arrivals.instant(beside.last),
        baseline_from=beside.said,
        reason=reason,
    )

"""The stretch of quiet minutes that a report shows beside a spike, and why that one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracemortem.detect.watches import Watch


@dataclass(frozen=True)
class Baseline:
    """Minutes first to last - 1, and a sentence on where they come from."""

    first: int
    last: int
    said: str


def baseline(
    counts: NDArray[np.int64], quiet: NDArray[np.bool_], *, begins: int, ends: int, watch: Watch
) -> Baseline:
    """The quiet minutes nearest before a spike, else nearest after, else the most there are.

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
    for side, choices in (("before", near), ("after", later)):
        for first, last in choices:
            requests = int(counts[first:last].sum())
            if last - first >= watch.number("quiet_minutes_least") and requests >= watch.number(
                "quiet_requests_least"
            ):
                said = f"the {last - first} quiet minutes {side} the spike ({requests:,} requests)"
                if side == "after":
                    said += ", since too little was recorded before it"
                return Baseline(first, last, said)
    return _meagre(counts, before + after)


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

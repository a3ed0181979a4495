"""When exactly a spike began and ended: a change of the share of slow requests, located between arrivals."""

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from tracemortem.detect.scan import share_at

COVERED = 0.95  # probability that the change lies in the interval reported


@dataclass(frozen=True)
class Edge:
    """A change of the share of slow requests, in microseconds since the epoch.

    at_us     arrival of the slow side's request next to the change
    evidence  nats by which a change there is likelier than none within what was searched
    """

    earliest_us: int
    at_us: int
    latest_us: int
    evidence: float


def onset(
    at_us: NDArray[np.int64],
    is_slow: NDArray[np.bool_],
    *,
    from_us: int,
    usual: float,
    odds: tuple[float, ...],
    noise: float,
) -> Edge:
    """Where the share of slow requests rose from `usual` to one with raised odds.

    at_us    arrivals in order, at least one, from some time before the change to some time after it
    is_slow  whether each is beyond the usual quantile
    from_us  where the search begins, at or before the first arrival

    Two-segment Bernoulli model: the share before is the usual one, that after is one of `odds`, equally
    likely beforehand, as is every instant. Between two arrivals nothing tells instants apart, so the
    posterior is flat there, and a gap in the traffic widens the interval as it should.
    """
    each = []
    for one in odds:
        raised = share_at(one, usual)
        hit, miss = log(raised / usual) / noise, log((1 - raised) / (1 - usual)) / noise
        weights = np.where(is_slow, hit, miss)
        each.append(weights[::-1].cumsum()[::-1])
    likelihood = np.logaddexp.reduce(np.stack(each), axis=0)
    density = np.exp(likelihood - likelihood.max())
    lengths = np.diff(at_us, prepend=from_us)
    probability = np.concatenate([[0.0], (density * np.maximum(lengths, 1)).cumsum()])
    ends = np.concatenate([[from_us], at_us])
    low, high = np.interp(
        [(1 - COVERED) / 2 * probability[-1], (1 + COVERED) / 2 * probability[-1]],
        probability,
        ends - from_us,
    )
    best = int(at_us[density.argmax()])
    return Edge(
        min(from_us + int(low), best),
        best,
        max(from_us + int(high), best),
        float(likelihood.max() - likelihood[0]),
    )


def recovery(
    at_us: NDArray[np.int64],
    is_slow: NDArray[np.bool_],
    *,
    to_us: int,
    usual: float,
    odds: tuple[float, ...],
    noise: float,
) -> Edge:
    """Where the share of slow requests fell back to `usual`: `onset` with time reversed.

    at_us  arrivals in order, from some time before the change to some time after it
    to_us  where the search ends, at or after the last arrival
    """
    mirrored = onset(-at_us[::-1], is_slow[::-1], from_us=-to_us, usual=usual, odds=odds, noise=noise)
    return Edge(-mirrored.latest_us, -mirrored.at_us, -mirrored.earliest_us, mirrored.evidence)

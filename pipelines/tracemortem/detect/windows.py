"""Where a spike begins and ends: the stretches that belong together, and their edges between arrivals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tracemortem.detect.arrivals import Arrivals
from tracemortem.detect.edges import Edge, onset, recovery
from tracemortem.detect.levels import Level
from tracemortem.detect.scan import Stretch, weight_of_evidence
from tracemortem.detect.watches import Watch


@dataclass(frozen=True)
class Window:
    """A spike located in the minutes first to last - 1, by the stretches it was found by.

    began      where the requests turned slow
    recovered  where they were usual again; None while the recording shows no such thing
    is_cut     whether they were slow when the recording began
    """

    first: int
    last: int
    began: Edge
    recovered: Edge | None
    is_cut: bool
    stretches: tuple[Stretch, ...]


def windows(
    arrivals: Arrivals, watch: Watch, levels: dict[float, Level], stretches: Sequence[Stretch]
) -> list[Window]:
    """The spikes that the stretches of one service make, in time order and apart.

    stretches  ordered by first minute
    """
    groups = together(stretches, int(watch.number("merge_minutes")))
    found: list[Window] = []
    for number, group in enumerate(groups):
        after = found[-1].last if found else 0
        until = groups[number + 1][0].first if number + 1 < len(groups) else arrivals.counts.size
        found.append(_locate(arrivals, watch, levels, group, after, until))
    return found


def together(stretches: Sequence[Stretch], merge_minutes: int) -> list[list[Stretch]]:
    """Stretches, ordered by first minute, in groups; those in a group lie at most merge_minutes apart."""
    groups: list[list[Stretch]] = []
    last = 0
    for stretch in stretches:
        if groups and stretch.first - last <= merge_minutes:
            groups[-1].append(stretch)
        else:
            groups.append([stretch])
        last = max(last, stretch.last)
    return groups


def _locate(
    arrivals: Arrivals,
    watch: Watch,
    levels: dict[float, Level],
    group: Sequence[Stretch],
    after: int,
    until: int,
) -> Window:
    """The window of one group, between the minutes `after` and `until`.

    By the quantile with most evidence alone: its requests tell the edges best, and the others, where they
    reach further, do so by noise more often than not.
    """
    evidence: dict[float, float] = {}
    for stretch in group:
        evidence[stretch.quantile] = evidence.get(stretch.quantile, 0.0) + stretch.evidence
    quantile = max(evidence, key=lambda one: evidence[one])
    own = [stretch for stretch in group if stretch.quantile == quantile]
    first, last = own[0].first, max(stretch.last for stretch in own)
    level = levels[quantile]
    reach, look = int(watch.number("edge_before_minutes")), int(watch.number("edge_after_minutes"))
    unsure = watch.number("edge_evidence")
    noise = level.noise.at(look)

    low = max(after, first - reach)
    own_arrivals = level.arrivals
    rows = own_arrivals.within(low, min(first + look, last))
    began = onset(
        own_arrivals.at_us[rows],
        level.is_slow[rows],
        from_us=arrivals.start_us(low),
        usual=1 - quantile,
        odds=watch.odds,
        noise=noise,
    )
    start = arrivals.minute_of(began.at_us)
    is_cut = low == 0 and began.evidence < unsure
    if is_cut:
        start, began = 0, replace(began, earliest_us=int(arrivals.at_us[0]))

    high = min(until, last + reach)
    rows = own_arrivals.within(max(first, last - look), high)
    recovered = recovery(
        own_arrivals.at_us[rows],
        level.is_slow[rows],
        to_us=arrivals.start_us(high),
        usual=1 - quantile,
        odds=watch.odds,
        noise=noise,
    )
    if high == arrivals.counts.size and recovered.evidence < unsure:
        return Window(start, high, began, None, is_cut, tuple(group))
    end = arrivals.minute_of(recovered.at_us)
    # The minute of the last slow request is part of the spike unless it was quiet already on the whole.
    weight = weight_of_evidence(
        level.slow[end : end + 1], own_arrivals.counts[end : end + 1], 1 - quantile, own[-1].odds, 1.0
    )
    stop = max(end + int(weight[0] > 0), start + 1)
    return Window(start, stop, began, recovered, is_cut, tuple(group))

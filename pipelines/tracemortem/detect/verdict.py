"""Is it an incident? What the quantiles of a spike say, held against the watch's numbers, in a sentence."""

from dataclasses import dataclass

import numpy as np

from tracemortem.detect.levels import Level
from tracemortem.detect.scan import share_at, weight_of_evidence
from tracemortem.detect.watches import Watch
from tracemortem.detect.windows import Window


@dataclass(frozen=True)
class Verdict:
    """status: confirmed or candidate. quantile: the one it is named after. reason: why, with numbers."""

    status: str
    quantile: float
    reason: str


@dataclass(frozen=True)
class _Case:
    """What one quantile says about a spike; shortfalls empty if that makes an incident."""

    quantile: float
    evidence: float
    ratio: float
    rise_s: float
    text: str
    shortfalls: tuple[str, ...]


def judge(watch: Watch, levels: dict[float, Level], window: Window, disputed: str | None) -> Verdict | None:
    """The verdict on a spike; None if it is slight at every quantile, now that its edges are known.

    disputed  why one of the methods would not call it a spike; None if they agree

    One quantile suffices. The spike is named after the highest watched quantile if that suffices, since it is
    what reports are about, else after the one with most evidence.
    """
    cases = [
        _case(watch, levels[quantile], window)
        for quantile in sorted({stretch.quantile for stretch in window.stretches})
    ]
    notable = [
        case
        for case in cases
        if case.ratio >= watch.number("candidate_ratio") and case.rise_s >= watch.least_rise_s
    ]
    sufficient = [case for case in notable if not case.shortfalls]
    if not notable:
        return None
    named = max(sufficient or notable, key=lambda case: (case.quantile == watch.quantiles[-1], case.evidence))
    shortfalls = named.shortfalls or (() if disputed is None else (disputed,))
    if not shortfalls:
        return Verdict("confirmed", named.quantile, named.text)
    return Verdict("candidate", named.quantile, f"{named.text}; but {' and '.join(shortfalls)}")


def _case(watch: Watch, level: Level, window: Window) -> _Case:
    """What one quantile says."""
    usual = 1 - level.quantile
    least = share_at(watch.number("share_odds"), usual)
    stretches = [stretch for stretch in window.stretches if stretch.quantile == level.quantile]
    evidence = sum(stretch.evidence for stretch in stretches)
    weights = np.concatenate(
        [
            weight_of_evidence(
                level.slow[one.first : one.last],
                level.arrivals.counts[one.first : one.last],
                usual,
                one.odds,
                level.noise.at(one.last - one.first),
            )
            for one in stretches
        ]
    )
    spared = int(watch.number("confirmed_minutes")) - 1
    remaining = float(np.sort(weights)[: max(weights.size - spared, 0)].sum())

    minutes_of = slice(window.first, window.last)
    counts, slow_by_minute = level.arrivals.counts[minutes_of], level.slow[minutes_of]
    requests, slow = int(counts.sum()), int(slow_by_minute.sum())
    minutes = int(np.count_nonzero(slow_by_minute >= np.maximum(least * counts, 1)))
    ratio = level.ratio(window.first, window.last)
    seconds = level.seconds(window.first, window.last)

    shortfalls = []
    if ratio < watch.number("confirmed_ratio"):
        shortfalls.append(f"an incident stands at {watch.number('confirmed_ratio'):g} times or more")
    if evidence < watch.number("confirmed_evidence"):
        shortfalls.append("noise alone comes that far now and then")
    if requests < watch.number("confirmed_requests"):
        shortfalls.append(f"fewer than {watch.number('confirmed_requests'):g} requests prove little")
    if minutes < watch.number("confirmed_minutes"):
        shortfalls.append(f"an incident has {watch.number('confirmed_minutes'):g} slow minutes or more")
    elif remaining < watch.number("remaining_evidence"):
        shortfalls.append(f"without its {spared} worst minutes nothing unusual remains")
    name = f"p{level.quantile * 100:g}"
    text = (
        f"{name} of {watch.title} was {seconds:.3g} s, {ratio:.2f} times what is usual {level.usual_from}; "
        f"{minutes} of {window.last - window.first} minutes were slow, "
        f"with {slow:,} of {requests:,} requests ({slow / max(requests, 1):.1%}) beyond the usual {name}, "
        f"where {usual:.0%} are expected"
    )
    return _Case(level.quantile, evidence, ratio, seconds * (1 - 1 / ratio), text, tuple(shortfalls))

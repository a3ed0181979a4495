"""All that was looked at for one incident is one family of tests: chance is adjusted over all of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tracemortem.explain.chance import together
from tracemortem.explain.movements import Compared
from tracemortem.explain.ranges import Ranges
from tracemortem.explain.segments import Shown
from tracemortem.explain.signals import Signal
from tracemortem.findings import Tally


@dataclass(frozen=True)
class Family:
    """The adjusted probabilities of all tests, each list in the order of the p-values it was made of.

    signals   the signals that hypotheses cite, those that are probabilities by chance adjusted
    """

    signals: Mapping[str, Signal]
    moves: Sequence[float]
    segments: Sequence[float]
    ranges: Sequence[float]
    tests: Tally


def family(
    signals: Mapping[str, Signal],
    moves: Sequence[Compared],
    segments: Shown | None,
    ranges: Ranges | None,
    rate: float,
) -> Family:
    """All tests of one incident, adjusted together (Benjamini and Hochberg).

    signals           by name, as they were measured
    segments, ranges  None where they were not looked at
    rate              the false discovery rate at which something is found
    """
    tested = {name: one.value for name, one in signals.items() if one.is_chance and one.value is not None}
    evidence_q, moves_q, segments_q, ranges_q = together(
        list(tested.values()),
        [one.move.p for one in moves],
        segments.p_values if segments else [],
        ranges.p_values if ranges else [],
    )
    told = {
        name: replace(
            signals[name], value=q, meaning=f"{signals[name].meaning}, adjusted for all that was looked at"
        )
        for name, q in zip(tested, evidence_q, strict=True)
    }
    every = (*evidence_q, *moves_q, *segments_q, *ranges_q)
    return Family(
        signals={**signals, **told},
        moves=moves_q,
        segments=segments_q,
        ranges=ranges_q,
        tests=Tally(
            rate=rate,
            found=sum(bool(q <= rate) for q in every),
            signals=len(moves_q),
            evidence=len(evidence_q),
            segments=len(segments_q),
            ranges=len(ranges_q),
        ),
    )

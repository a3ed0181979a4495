"""How often is each hypothesis supported where nothing happened, and what follows for the causes?"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracemortem.explain.weigh import STRENGTH
from tracemortem.findings import Placebo, Tried
from tracemortem.incident import Cause

_SURE = 0.95
_HALVINGS = 50  # of an interval of shares: to the last digit
# With 0 of fewer stretches the bound lies above 14 %: not even a common false alarm is excluded.
_TELLING = 20


def at_most(found: int, of: int) -> float:
    """The share that `found` of `of` trials do not exceed, with 95 % certainty (Clopper and Pearson, 1934).

    One-sided. 1 where there were none.
    """
    low, high = found / of if of else 1.0, 1.0
    if low == high:
        return 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        so_few = math.fsum(math.comb(of, k) * middle**k * (1 - middle) ** (of - k) for k in range(found + 1))
        low, high = (middle, high) if so_few > 1 - _SURE else (low, middle)
    return high


def at_least(found: int, of: int) -> float:
    """The share that they exceed, with 95 % certainty; 0 where there were none."""
    return 1 - at_most(of - found, of) if found else 0.0


def placebo(stretches: Sequence[Mapping[str, str]], minutes: float | None) -> Placebo:
    """What became of the hypotheses in the quiet stretches of one service.

    stretches   verdict by kind, one mapping a stretch
    minutes     length of each; None where there are none
    """
    if not stretches or minutes is None:
        return Placebo(
            "not_testable",
            0,
            None,
            None,
            None,
            (),
            "Not testable: no stretch as long as the incident lies apart from everything unusual "
            "with time enough before it to compare it with.",
        )
    kinds = list(dict.fromkeys(kind for verdicts in stretches for kind in verdicts))
    rules = tuple(_tried(kind, [verdicts[kind] for verdicts in stretches]) for kind in kinds)
    alarmed = sum(any(verdict in STRENGTH for verdict in verdicts.values()) for verdicts in stretches)
    count = len(stretches)
    upper = at_most(alarmed, count)
    named = (
        f"Of {count} quiet {'stretch' if count == 1 else 'stretches'} of {minutes:.0f} minutes "
        f"{alarmed} would have been blamed on something"
    )
    text = f"{named}; with 95 % certainty that happens in at most {100 * upper:.0f} % of them."
    if count < _TELLING:
        text += " So few stretches cannot show that it is rare."
    return Placebo("tested", count, minutes, alarmed, upper, rules, text)


def doubted(causes: Sequence[Cause], tried: Placebo, settings: Mapping[str, float]) -> tuple[Cause, ...]:
    """The causes, those that are blamed for nothing too often as no more than possible.

    settings  placebo_false_alarms (thresholds.yaml)

    Too often: it is shown with 95 % certainty that more than that share of quiet stretches are blamed on it.
    Its confidence then is at most the share of quiet stretches that are not. Few stretches show little, and
    so change nothing.
    """
    rules = {rule.kind: rule for rule in tried.rules}
    told = [_doubted(cause, rules.get(cause.kind), settings["placebo_false_alarms"]) for cause in causes]
    return tuple(sorted(told, key=lambda cause: (cause.role != "primary", -STRENGTH[cause.verdict])))


def _doubted(cause: Cause, rule: Tried | None, limit: float) -> Cause:
    if rule is None or at_least(rule.supported, rule.tested) <= limit:
        return cause
    spared = 1 - rule.supported / rule.tested
    return replace(
        cause,
        verdict="possible",
        confidence=None if cause.confidence is None else min(cause.confidence, spared),
        text=f"{cause.text} But of {rule.tested} quiet stretches of this recording {rule.supported} "
        "would have been blamed on it too.",
    )


def _tried(kind: str, verdicts: Sequence[str]) -> Tried:
    tested = sum(verdict != "not_testable" for verdict in verdicts)
    supported = sum(verdict in STRENGTH for verdict in verdicts)
    return Tried(kind, tested, supported, at_most(supported, tested) if tested else None)

"""Which requests stand out: those of a tenant, a replica, a length ..., or of two such values together?

Slow is what took longer than its own lengths do in the baseline (evidence.request_expected): else all that
stands out is that long requests are slow.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracemortem.explain.patterns import TIME, Kinds, kinds
from tracemortem.explain.segment_search import LEAST, Looked, load, look, slow
from tracemortem.explain.tables import chance, g_test, mantel_haenszel, risk_ratio
from tracemortem.findings import Segment


@dataclass(frozen=True)
class Shown:
    """The requests of one incident by what they have in common, with the tests of all of it.

    scale   length of the incident over that of its baseline
    """

    known: Kinds
    looked: Looked
    scale: float

    @property
    def p_values(self) -> list[float]:
        """Those of everything that was looked at."""
        return self.looked.p_values


def shown(frame: pl.DataFrame) -> Shown | None:
    """What requests have in common; None where nothing is known of that, or too few were slow.

    frame   evidence.segment of one incident
    """
    if frame["slow_requests"].sum() < LEAST or frame["requests_before"].sum() == 0:
        return None
    known = kinds(frame)
    minutes, minutes_before, seen = frame.select("minutes", "minutes_before", "values_seen").row(0)
    if seen is None:  # nothing is recorded that requests could have in common
        return None
    rare = max(seen - sum(column.attribute != TIME for column in known.columns), 0)
    looked = look(known, rare)
    return None if looked is None else Shown(known, looked, minutes / minutes_before)


def segments(
    found: Shown | None, q_values: Sequence[float], settings: Mapping[str, float]
) -> tuple[Segment, ...]:
    """Values and pairs of values whose requests stand out, slow ones first, each by weight of evidence.

    q_values  the p-values of what is shown, adjusted for everything that was looked at
    settings  segment_risk_ratio, segment_support, segment_contradiction, false_discovery_rate, culprit_share,
              culprit_lift, culprit_rise, culprit_sigmas (thresholds.yaml)

    Slow: segment_support of the slow requests, at a rate of segment_risk_ratio times that of all others, with
    a G-test at the false discovery rate. Load: culprit_share of the rise of the expected service time and
    culprit_lift times the usual share of it, from more requests than usual by culprit_sigmas. A pair must be
    so beside the rest of each of its values as well, and what has it only through requests of an earlier
    segment is left out (a value that repeats another). A value that looks faster than others and is slower
    within strata is a segment too: Simpson's paradox.
    """
    if found is None:
        return ()
    known, scale = found.known, found.scale
    looked = found.looked.adjusted(q_values)
    slowed = list(slow(known, looked, settings))
    loading = list(load(known, looked, scale, settings))
    told = [_segment(known, looked, at, "slowness", scale, settings) for at in slowed]
    told += [_segment(known, looked, at, "load", scale, settings) for at in loading if at not in slowed]
    return tuple(told)


def _segment(
    known: Kinds, looked: Looked, at: int, by: str, scale: float, settings: Mapping[str, float]
) -> Segment:
    requests, slow, work, requests_before, work_before = looked.counts[at]
    total = looked.total
    plain, low, high = (float(x) for x in risk_ratio(slow, requests, total[1], total[0]))
    stratum, within = _within(known, looked, at, plain)
    usual = total[4] * scale
    has_risen = total[2] >= settings["culprit_rise"] * usual
    before = float(work_before / total[4])
    share = float((work - work_before * scale) / (total[2] - usual)) if has_risen else None
    brings = share is not None and share >= max(settings["culprit_share"], settings["culprit_lift"] * before)
    # a ratio near 1 has no direction; and of a segment found by its load, slowness is no claim
    is_confounded = (
        by == "slowness"
        and within is not None
        and (
            min(plain, within) < 1 < settings["segment_risk_ratio"] <= max(plain, within)
            or max(plain / within, within / plain) >= settings["segment_contradiction"]
        )
    )
    if by == "slowness":
        g = float(g_test(slow, requests, total[1], total[0]))
        q = min(looked.slow[at], looked.masked[at])
    else:
        g = float(g_test(requests, requests + requests_before, total[0], total[0] + total[3]))
        q = looked.load[at]
    others = total[0] - requests
    return Segment(
        role="culprit" if brings and looked.is_sent(known, at) else "victim",
        by=by,
        items=tuple(known.columns[c] for c in dict.fromkeys((looked.first[at], looked.second[at]))),
        requests=int(requests),
        slow_requests=int(slow),
        slow_ratio=float(slow / requests),
        other_slow_ratio=float((total[1] - slow) / others) if others else 0.0,
        risk_ratio=plain,
        low=low,
        high=high,
        g=g,
        p=chance(np.array([g]))[0],
        q=float(q),
        stratified_by=stratum,
        stratified_ratio=within,
        is_confounded=is_confounded,
        work_share=float(work / total[2]),
        work_share_before=before,
        share_of_excess=share,
    )


def _within(known: Kinds, looked: Looked, at: int, plain: float) -> tuple[str | None, float | None]:
    """The attribute within whose values the ratio of a segment differs most from the plain one, and it."""
    own = {known.columns[column].attribute for column in (looked.first[at], looked.second[at])}
    found: list[tuple[float, str, float]] = []
    for attribute in known.attributes:
        if attribute not in own:
            ratio, _ = mantel_haenszel(*known.strata(looked.member(known, at), attribute))
            within = float(ratio)
            if math.isfinite(within) and within > 0:
                found.append((abs(math.log(within / plain)), attribute, within))
    if not found:
        return None, None
    _, attribute, within = max(found)
    return attribute, within

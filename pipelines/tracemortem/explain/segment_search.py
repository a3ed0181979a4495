"""Every value and pair of values that was looked at, with its tests, and which of them stand out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracemortem.explain.patterns import Kinds, enumerated
from tracemortem.explain.tables import Floats, chance, g_test, mantel_haenszel, risk_ratio

LEAST = 10  # slow requests; of fewer G is not chi-squared
_NOBODY_SENDS = frozenset({"replica"})  # the service chooses it, so it brings no load
_SHOWN = 8  # of each role; what comes after them explains little


@dataclass(frozen=True)
class Looked:
    """Everything looked at, a row a pattern: columns first and second, and how many requests have them.

    slow, load, masked  probability by chance that it stands out by slowness, by load, and, of single values,
                        by slowness within an attribute, that where it does most (1 of pairs)
    masked_ratio        its risk ratio there
    others              probabilities of all else that was looked at
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    counts: Floats
    total: Floats
    slow: Floats
    load: Floats
    masked: Floats
    masked_ratio: Floats
    others: tuple[float, ...]

    @property
    def is_single(self) -> NDArray[np.bool_]:
        """By pattern, whether it is a value by itself."""
        is_single: NDArray[np.bool_] = self.first == self.second
        return is_single

    @property
    def p_values(self) -> list[float]:
        """All probabilities, those that are asked for first."""
        return [*self.slow, *self.load, *self.masked[self.is_single], *self.others]

    def adjusted(self, q_values: Sequence[float]) -> "Looked":
        """The same with those probabilities adjusted. q_values: in the order of p_values."""
        q, size = np.array(q_values), self.first.size
        masked = np.ones(size)
        masked[self.is_single] = q[2 * size :][: int(self.is_single.sum())]
        return replace(self, slow=q[:size], load=q[size : 2 * size], masked=masked)

    @property
    def parents(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of the two values by themselves, of each pattern; a single value is its own."""
        row = np.zeros(int(self.second.max()) + 1, np.int64)
        row[self.first[self.is_single]] = np.flatnonzero(self.is_single)
        return row[self.first], row[self.second]

    def member(self, known: Kinds, at: int) -> NDArray[np.bool_]:
        """The kinds that have the values of a pattern."""
        return known.has[:, self.first[at]] & known.has[:, self.second[at]]

    def is_sent(self, known: Kinds, at: int) -> bool:
        """Whether clients choose the values of a pattern, so that they bring its load."""
        return not {known.columns[one].attribute for one in (self.first[at], self.second[at])} & _NOBODY_SENDS


def look(known: Kinds, rare: int) -> Looked | None:
    """Every pattern with its tests; None if no request has any. rare: values too rare to be told apart."""
    pairs = np.array(list(enumerated(known)), np.int64).reshape(-1, 2)
    crossed = known.crossed()
    total = known.counts.sum(axis=0)
    counts = crossed[:, pairs[:, 0], pairs[:, 1]].T
    is_there = counts[:, 0] > 0
    pairs, counts = pairs[is_there], counts[is_there]
    if not len(pairs):
        return None
    requests, slow, _, before, _ = counts.T
    single = pairs[:, 0] == pairs[:, 1]
    ratio, chi = _masked(known, crossed, pairs[single, 0])
    best = np.nanargmin(np.where(np.isnan(ratio), np.inf, -chi), axis=1)
    rows = np.arange(len(best))
    is_best = np.zeros(chi.shape, np.bool_)
    is_best[rows, best] = True
    masked, masked_ratio = np.ones(len(pairs)), np.full(len(pairs), np.nan)
    masked[single], masked_ratio[single] = chance(chi[rows, best]), ratio[rows, best]
    return Looked(
        first=pairs[:, 0],
        second=pairs[:, 1],
        counts=counts,
        total=total,
        slow=np.array(chance(g_test(slow, requests, total[1], total[0]))),
        load=np.array(chance(g_test(requests, requests + before, total[0], total[0] + total[3]))),
        masked=masked,
        masked_ratio=masked_ratio,
        others=(*chance(chi[~is_best]), *[1.0] * (2 * rare)),
    )


def _masked(known: Kinds, crossed: Floats, singles: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """For each value, its risk ratio within each attribute and chi-squared; NaN and 0 within its own."""
    ratio, chi = (np.full((len(singles), len(known.attributes)), fill) for fill in (np.nan, 0.0))
    own = [known.columns[at].attribute for at in singles]
    for number, attribute in enumerate(known.attributes):
        columns = known.within(attribute)
        requests, slow = (
            _with_rest(crossed[count][np.ix_(singles, np.array(columns))], crossed[count][singles, singles])
            for count in (0, 1)
        )
        whole_requests, whole_slow = (
            _with_rest(crossed[count][columns, columns][None, :], known.counts[:, [count]].sum(axis=0))
            for count in (0, 1)
        )
        found, square = mantel_haenszel(slow, requests, whole_slow, whole_requests)
        is_other = np.array([name != attribute for name in own])
        ratio[is_other, number], chi[is_other, number] = found[is_other], square[is_other]
    return ratio, chi


def _with_rest(by_value: Floats, whole: Floats) -> Floats:
    """Counts by value, and a last column with what has none of the values."""
    return np.column_stack((by_value, np.maximum(whole - by_value.sum(axis=1), 0)))


def slow(known: Kinds, looked: Looked, settings: Mapping[str, float]) -> Iterable[int]:
    """The patterns over-represented among slow requests, each still so without those before it."""
    requests, slow = looked.counts[:, 0], looked.counts[:, 1]
    least = max(settings["segment_support"] * looked.total[1], LEAST)
    ratio, low, _ = risk_ratio(slow, requests, looked.total[1], looked.total[0])
    is_single = looked.is_single
    is_plain = (ratio >= settings["segment_risk_ratio"]) & (low > 1)
    is_plain &= looked.slow <= settings["false_discovery_rate"]
    for parent in looked.parents:
        beside, least_ratio, _ = risk_ratio(slow, requests, slow[parent], requests[parent])
        is_plain &= is_single | ((beside >= settings["segment_risk_ratio"]) & (least_ratio > 1))
    is_masked = (ratio < 1) & (looked.masked_ratio >= settings["segment_risk_ratio"])
    is_masked &= looked.masked <= settings["false_discovery_rate"]
    wanted = np.flatnonzero((is_plain | is_masked) & (slow >= least))
    g = g_test(slow, requests, looked.total[1], looked.total[0])
    order = sorted(wanted.tolist(), key=lambda at: (bool(is_masked[at]), -g[at], not is_single[at], at))
    left = np.ones(len(known.has), np.bool_)
    kept = 0
    for at in order:
        member = looked.member(known, at)
        a, n = (float(known.counts[member & left, count].sum()) for count in (1, 0))
        whole, total = (np.array(known.counts[left, count].sum()) for count in (1, 0))
        rest, _, _ = risk_ratio(np.array(a), np.array(n), whole, total)
        if a >= least and (is_masked[at] or rest >= settings["segment_risk_ratio"]):
            yield at
            left &= ~member
            kept += 1
        if kept == _SHOWN:
            return


def load(known: Kinds, looked: Looked, scale: float, settings: Mapping[str, float]) -> Iterable[int]:
    """The patterns that brought the rise of the work, each still so without those before it.

    Where what is left without those before brought no more than is usual, the rise is told: that one of the
    rest grew while another shrank is nobody's fault.
    """
    usual = looked.total[4] * scale
    excess = looked.total[2] - usual
    if looked.total[2] < settings["culprit_rise"] * usual:
        return
    sent = np.array([looked.is_sent(known, at) for at in range(len(looked.first))])
    share = (looked.counts[:, 2] - looked.counts[:, 4] * scale) / excess
    before = looked.counts[:, 4] / looked.total[4]
    lift = share / np.maximum(before, 1 / max(looked.total[3], 1))
    is_culprit = sent & (share >= settings["culprit_share"]) & (lift >= settings["culprit_lift"])
    is_culprit &= looked.load <= settings["false_discovery_rate"]
    expected = looked.counts[:, 3] * scale
    is_culprit &= looked.counts[:, 0] - expected >= settings["culprit_sigmas"] * np.sqrt(
        np.maximum(expected, 1)
    )
    is_single = looked.is_single
    for parent in looked.parents:
        is_culprit &= is_single | (lift >= settings["culprit_lift"] * lift[parent])
    # by how many more bits tell a request of the excess from a usual one
    score = np.where(is_culprit, share * np.log(np.maximum(lift, 1e-9)), 0.0)
    order = sorted(
        np.flatnonzero(is_culprit).tolist(),
        key=lambda at: (-score[at], not is_single[at], at),
    )
    left = np.ones(len(known.has), np.bool_)
    kept = 0
    for at in order:
        untold = known.counts[left, 2].sum() - known.counts[left, 4].sum() * scale
        if untold < settings["culprit_share"] * excess:
            return
        member = looked.member(known, at) & left
        own = (known.counts[member, 2].sum() - known.counts[member, 4].sum() * scale) / excess
        if own >= settings["culprit_share"] and own >= settings["culprit_lift"] * before[at]:
            yield at
            left &= ~member
            kept += 1
        if kept == _SHOWN:
            return

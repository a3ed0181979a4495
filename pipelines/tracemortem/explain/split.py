"""What a P99's rise is made of: another mix of requests, a colder cache, or the same requests slower.

The baseline's requests are reweighted so that they look like the incident's (DiNardo, Fortin, Lemieux 1996):
by prompt and output length, then by how much of the prompt was cached as well. What the reweighted baseline's
P99 rises by is the part of the mix, then of the cache; the rest is requests of the same kind that took
longer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracemortem.findings import Part, Split

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_QUANTILE = 0.99
_REPLICATES = 100
_SEED = 1996  # the same input must give the same interval
_NEW = -1  # a kind of request that the baseline does not have


@dataclass(frozen=True)
class _Phase:
    """The requests of one phase, by rising latency. minute counts from 0; kind and warm_kind are cells.

    tokens   one, prompt and output tokens: what latency is a linear function of on an idle engine
    """

    seconds: Floats
    tokens: Floats
    minute: Ints
    kind: Ints
    warm_kind: Ints


def split(frame: pl.DataFrame, settings: Mapping[str, float]) -> Split:
    """The rise of the P99 from the baseline to the incident, in parts that add up to it.

    frame     phase (baseline, during), minute, duration_s, prompt_tokens, output_tokens, cached_tokens of the
              requests latency is taken over
    settings  split_effective_requests, split_weight_share, split_new_share (thresholds.yaml)

    Kinds are powers of two of prompt length and powers of four of output length; within them, half of the
    prompt cached or not. What a request of a kind that the baseline lacks would have taken then is its least
    squares prediction from the tokens, and how many these are is stated. Intervals are 95 % of a bootstrap
    over minutes. Not testable where lengths are not known, or where too few requests of the baseline carry
    too much of the weight.
    """
    known = frame.filter(
        pl.col("duration_s").is_not_null()
        & pl.col("prompt_tokens").is_not_null()
        & pl.col("output_tokens").is_not_null()
    )
    has_cache = known.height > 0 and known["cached_tokens"].null_count() == 0
    before, during = (_phase(known, phase) for phase in ("baseline", "during"))
    if before.seconds.size == 0 or during.seconds.size == 0:
        return _untold("the lengths of prompts and answers are not recorded in both windows")
    lost = 1 - known.height / frame.height
    new_share = float(np.isin(during.kind, before.kind, invert=True).mean())
    once = np.ones(before.seconds.size), np.ones(during.seconds.size)
    weights = _weights(before, during, *once, by_cache=False)
    effective = weights.sum() ** 2 / np.square(weights).sum() if weights.any() else 0.0
    heaviest = weights.max() / during.seconds.size
    if effective < settings["split_effective_requests"] or heaviest > settings["split_weight_share"]:
        return _untold(
            f"the baseline has too few requests like those of the incident: they count as {effective:,.0f}"
        )
    if new_share > settings["split_new_share"]:
        return _untold(f"the baseline has no request like {100 * new_share:.0f} % of those of the incident")
    comparison = _Comparison(before, during, has_cache=has_cache)
    steps, spread = comparison.steps(*once), np.array(list(comparison.replicates()))
    parts = np.diff(steps)
    low, high = np.quantile(np.diff(spread, axis=1), (0.025, 0.975), axis=0)
    names = ("mix", "cache", "interference") if has_cache else ("mix", "interference")
    rise = steps[-1] - steps[0]
    return Split(
        status="estimated",
        baseline=float(steps[0]),
        peak=float(steps[-1]),
        parts=tuple(
            Part(
                name,
                float(parts[at]),
                float(low[at]),
                float(high[at]),
                float(parts[at] / rise) if rise > 0 else None,
            )
            for at, name in enumerate(names)
        ),
        effective_requests=float(effective),
        new_share=new_share,
        text=_text(has_cache=has_cache, lost=lost, new_share=new_share),
    )


def _phase(known: pl.DataFrame, phase: str) -> _Phase:
    own = known.filter(pl.col("phase") == phase).sort(
        "duration_s", "minute", "prompt_tokens", "output_tokens", "cached_tokens"
    )
    tokens = own.select(pl.lit(1.0), "prompt_tokens", "output_tokens").cast(pl.Float64).to_numpy()
    doublings = np.log2(np.maximum(tokens, 1)).astype(np.int64)
    kind = 64 * doublings[:, 1] + doublings[:, 2] // 2
    is_warm = own["cached_tokens"].fill_null(0).to_numpy() * 2 >= own["prompt_tokens"].to_numpy()
    minute = own["minute"].dt.epoch("s").to_numpy() // 60
    return _Phase(
        own["duration_s"].to_numpy(),
        tokens,
        minute - (minute.min() if minute.size else 0),
        kind,
        2 * kind + is_warm.astype(np.int64),
    )


class _Comparison:
    """Two phases, and the steps from the P99 of one to that of the other."""

    def __init__(self, before: _Phase, during: _Phase, *, has_cache: bool) -> None:
        self._before, self._during, self._has_cache = before, during, has_cache
        self._is_new = np.isin(during.kind, before.kind, invert=True)
        usual = np.einsum("ij,ik->jk", before.tokens, before.tokens)
        slopes = np.linalg.lstsq(usual, np.einsum("ij,i->j", before.tokens, before.seconds), rcond=None)[0]
        predicted = np.maximum(np.einsum("ij,j->i", during.tokens[self._is_new], slopes), 0)
        seconds = np.concatenate((before.seconds, predicted))
        self._order = np.argsort(seconds, kind="stable")
        self._seconds = seconds[self._order]

    def steps(self, ones: Floats, count: Floats) -> Floats:
        """P99 of the baseline, of it reweighted by kind, by cache as well if known, and of the incident.

        ones, count   how often each request counts, of the baseline and of the incident
        """
        found = [_quantile(self._before.seconds, ones)]
        for by_cache in (False, True) if self._has_cache else (False,):
            weights = _weights(self._before, self._during, ones, count, by_cache=by_cache)
            weights = np.concatenate((weights, count[self._is_new]))
            found.append(_quantile(self._seconds, weights[self._order]))
        found.append(_quantile(self._during.seconds, count))
        return np.array(found)

    def replicates(self) -> Iterator[Floats]:
        """The steps over minutes drawn with replacement: requests of one minute wait for each other."""
        draw = np.random.default_rng(_SEED)
        for _ in range(_REPLICATES):
            yield self.steps(*(_drawn(draw, phase.minute) for phase in (self._before, self._during)))


def _weights(
    before: _Phase,
    during: _Phase,
    ones: Floats,
    count: Floats,
    *,
    by_cache: bool,
) -> Floats:
    """Weight of each request of the baseline, so that its kinds are as frequent as in the incident.

    A kind and warmth that the baseline lacks falls back on the kind alone: what a miss costs is not known
    there, so it is not charged to the cache.
    """
    size = int(max(before.warm_kind.max(), during.warm_kind.max())) + 1
    if by_cache:
        has_twin = _sums(before.warm_kind, ones, size)[during.warm_kind] > 0
    else:
        has_twin = np.zeros(during.kind.size, np.bool_)
    found: Floats = ones * _ratios(before.kind, during.kind, ones, np.where(has_twin, 0, count), size)
    if by_cache:
        twins = np.where(has_twin, count, 0.0)
        found = found + ones * _ratios(before.warm_kind, during.warm_kind, ones, twins, size)
    return found


def _ratios(before: Ints, during: Ints, ones: Floats, count: Floats, size: int) -> Floats:
    """For each request before, how often its cell comes during over how often before."""
    usual, wanted = _sums(before, ones, size), _sums(during, count, size)
    ratio: Floats = np.divide(wanted, usual, out=np.zeros(size), where=usual > 0)
    return ratio[before]


def _sums(cells: Ints, weights: Floats, size: int) -> Floats:
    return np.bincount(cells, weights, size).astype(np.float64)


def _quantile(seconds: Floats, weights: Floats) -> float:
    """The weighted quantile of ascending values, linear between them as quantile_cont is."""
    reached = np.cumsum(weights)
    if weights.size and weights.min() == weights.max():
        return float(np.quantile(seconds, _QUANTILE))
    target = _QUANTILE * (reached[-1] - weights[-1]) if reached[-1] else 0.0
    return float(np.interp(target, reached - weights, seconds))


def _drawn(draw: np.random.Generator, minute: Ints) -> Floats:
    there, index = np.unique(minute, return_inverse=True)
    drawn = np.bincount(draw.integers(0, there.size, there.size), minlength=there.size)
    return drawn[index].astype(np.float64)


def _text(*, has_cache: bool, lost: float, new_share: float) -> str:
    said = ["An estimate, by reweighting the requests before."]
    if not has_cache:
        said.append(
            "Cached tokens are not recorded for each request, so the cache's part is within the last one."
        )
    if new_share > 0:
        said.append(
            f"The baseline has no request like {100 * new_share:.2g} % of those of the incident; "
            "what these would have taken then is extrapolated from their tokens."
        )
    if lost > 0.005:
        said.append(f"{100 * lost:.0f} % of the requests are left out, their lengths are not known.")
    return " ".join(said)


def _untold(why: str) -> Split:
    return Split("not_testable", None, None, (), None, None, f"Not testable: {why}.")

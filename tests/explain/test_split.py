"""What the rise of a P99 is made of."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from tracemortem.explain.split import split
from tracemortem.findings import Split

BEGIN = datetime(2026, 4, 24, 0, 0, tzinfo=UTC)
SETTINGS = {"split_effective_requests": 200.0, "split_weight_share": 0.05, "split_new_share": 0.5}


def requests(
    phase: str,
    seed: int,
    *,
    long: float = 0.05,
    cold: float = 0.1,
    slower: float = 1.0,
    longest: int = 9000,
    number: int = 4000,
) -> pl.DataFrame:
    """Requests that take time by their uncached tokens, some long, some cold, all slower by a factor."""
    draw = np.random.default_rng(seed)
    prompt = np.where(draw.random(number) < long, draw.integers(longest * 3 // 4, longest, number), 300)
    share = np.where(draw.random(number) < cold, 0.0, 0.8)
    output = draw.integers(32, 64, number)
    seconds = (0.0002 * prompt * (1 - share) + 0.01 * output) * slower * draw.uniform(0.95, 1.05, number)
    minute = np.sort(draw.integers(0, 60, number))
    return pl.DataFrame(
        {
            "phase": phase,
            "minute": [BEGIN + timedelta(minutes=int(at)) for at in minute],
            "duration_s": seconds,
            "prompt_tokens": prompt.astype(np.int64),
            "output_tokens": output,
            "cached_tokens": (prompt * share).astype(np.int64),
        }
    )


def shares(found: Split) -> dict[str, float]:
    return {part.part: round(part.share or 0.0, 1) for part in found.parts}


def told(during: pl.DataFrame, before: pl.DataFrame | None = None) -> Split:
    return split(pl.concat((requests("baseline", 1) if before is None else before, during)), SETTINGS)


def test_the_same_requests_slower_are_interference():
    assert shares(told(requests("during", 2, slower=2.0))) == {"mix": 0.0, "cache": 0.0, "interference": 1.0}


def test_more_requests_without_a_cached_prompt_are_the_caches_part():
    before, during = requests("baseline", 1, cold=0.02), requests("during", 2, cold=0.9)
    found = split(pl.concat((before, during)), SETTINGS | {"split_weight_share": 0.2})
    assert shares(found)["cache"] == pytest.approx(1, abs=0.15)


def test_parts_add_up_to_the_rise():
    found = told(requests("during", 2, long=0.2, cold=0.4, slower=1.5))
    assert sum(part.seconds for part in found.parts) == pytest.approx(
        (found.peak or 0) - (found.baseline or 0)
    )


def test_both_ends_are_the_quantiles_of_the_two_windows():
    before, during = requests("baseline", 1), requests("during", 2, slower=2.0)
    found = told(during, before)
    ends = [float(np.quantile(frame["duration_s"].to_numpy(), 0.99)) for frame in (before, during)]
    assert [found.baseline, found.peak] == pytest.approx(ends)


def test_a_kind_that_is_new_is_extrapolated_and_said():
    found = told(requests("during", 2, longest=40_000, long=0.1))
    assert round(found.new_share or 0, 2) == 0.1
    assert "The baseline has no request like" in found.text


def test_intervals_hold_the_estimate():
    found = told(requests("during", 2, long=0.2, cold=0.4, slower=1.5))
    assert [part.part for part in found.parts if not part.low <= part.seconds <= part.high] == []


def test_the_same_requests_in_another_order_give_the_same_split():
    during = requests("during", 2, long=0.2)
    assert told(during.sample(fraction=1, shuffle=True, seed=5)) == told(during)


def test_without_cached_tokens_the_cache_has_no_part_of_its_own():
    frame = pl.concat((requests("baseline", 1), requests("during", 2, slower=2.0)))
    found = split(frame.with_columns(cached_tokens=pl.lit(None, pl.Int64)), SETTINGS)
    assert [part.part for part in found.parts] == ["mix", "interference"]
    assert "Cached tokens are not recorded" in found.text


def test_requests_of_unknown_length_are_left_out_and_said():
    frame = pl.concat((requests("baseline", 1), requests("during", 2, slower=2.0)))
    is_known = pl.int_range(pl.len()) % 4 > 0
    found = split(frame.with_columns(prompt_tokens=pl.when(is_known).then(pl.col("prompt_tokens"))), SETTINGS)
    assert "25 % of the requests are left out" in found.text


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (
            requests("during", 2),
            "Not testable: the lengths of prompts and answers are not recorded in both windows.",
        ),
        (
            pl.concat((requests("baseline", 1, number=150), requests("during", 2))),
            "Not testable: the baseline has too few requests like those of the incident: they count as 1",
        ),
        (
            pl.concat((requests("baseline", 1), requests("during", 2, long=0.9, longest=40_000))),
            "Not testable: the baseline has no request like 90 % of those of the incident.",
        ),
    ],
)
def test_what_cannot_be_compared_is_not_split(frame: pl.DataFrame, why: str):
    found = split(frame, SETTINGS)
    assert (found.status, found.parts, found.text[: len(why)]) == ("not_testable", (), why)

"""The size of the KV memory, told from its use."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from worlds import served

from tracemortem.replay.memory import capacity
from tracemortem.replay.recorded import requests

TOKENS = 50_000


def varied(at_s):
    return 0.2 if at_s % 7 < 3 else 0.8


def use(made, every_s=15.0, shared=0.25, noise=0.03):
    """What scrapes say of engines with that many tokens, of whose cached tokens a quarter are not shared."""
    random = np.random.default_rng(5)
    rows = []
    for at in np.arange(60.0, made.arrival.max(), every_s):
        for number in range(made.replicas):
            there = (made.replica == number) & (made.scheduled <= at) & (at < made.last)
            part = np.clip((at - made.scheduled) / np.maximum(made.first - made.scheduled, 1e-9), 0, 1)
            done = np.clip((at - made.first) / np.maximum(made.last - made.first, 1e-9), 0, 1)
            own = part * (made.prompt - made.cached) + done * (made.output - 1) + shared * made.cached
            rows.append((number, at, own[there].sum() / TOKENS * random.normal(1, noise)))
    return pl.DataFrame(rows, schema=["replica", "at_s", "usage_ratio"], orient="row")


def test_the_size_is_found_again_and_lies_in_its_interval():
    made = requests(served(a_second=6.0, hit=varied))
    found = capacity(made, use(made), 0.9)
    assert found is not None
    assert found.tokens == pytest.approx(TOKENS, rel=0.03)
    assert found.low < TOKENS < found.high
    assert found.high - found.low < 0.1 * TOKENS


def test_scrapes_of_a_full_memory_tell_nothing_of_its_size():
    made = requests(served(a_second=6.0, hit=varied))
    seen = use(made)
    full = seen.with_columns(usage_ratio=pl.lit(0.95))
    assert capacity(made, pl.concat([seen, full, full]), 0.9) == capacity(made, seen, 0.9)


def test_scrapes_from_when_not_all_requests_are_known_tell_nothing():
    every = requests(served(a_second=6.0, hit=varied))
    seen = use(every)
    end_s = every.arrival.max()
    known = every.only(every.arrival < 0.6 * end_s)
    inside = seen.filter(pl.col("at_s") <= known.arrival.max())
    assert inside.height < seen.height
    assert capacity(known, seen, 0.9) == capacity(known, inside, 0.9)


def test_neither_do_those_of_a_gap_between_the_baseline_and_the_incident():
    every = requests(served(a_second=6.0, hit=varied))
    made, seen = every, use(every)
    late_s = 86_400.0
    half_s = made.arrival.max() / 2
    is_late = made.arrival > half_s
    moved = {
        name: getattr(made, name) + late_s * is_late for name in ("arrival", "scheduled", "first", "last")
    }
    later = pl.col("at_s") + pl.when(pl.col("at_s") > half_s).then(late_s).otherwise(0.0)
    away = pl.DataFrame({"at_s": [half_s + 5000.0, half_s + 40_000.0]}).select(
        pl.lit(0, pl.Int64).alias("replica"), "at_s", pl.lit(0.5).alias("usage_ratio")
    )
    apart = replace(made, **moved)
    assert capacity(apart, pl.concat([seen.with_columns(later), away]), 0.9) == capacity(
        apart, seen.with_columns(later), 0.9
    )
    found = capacity(apart, seen.with_columns(later), 0.9)
    assert found is not None
    assert found.tokens == pytest.approx(TOKENS, rel=0.04)


def test_too_few_scrapes_tell_no_size():
    made = requests(served(a_second=6.0, hit=varied))
    assert capacity(made, use(made).head(19), 0.9) is None


def test_where_all_is_cached_nothing_tells_the_size():
    made = requests(served(a_second=6.0, hit=varied))
    alone = replace(made, cached=made.prompt, output=np.ones_like(made.output))
    assert capacity(alone, use(made), 0.9) is None

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


def test_too_few_scrapes_tell_no_size():
    made = requests(served(a_second=6.0, hit=varied))
    assert capacity(made, use(made).head(19), 0.9) is None


def test_where_all_is_cached_nothing_tells_the_size():
    made = requests(served(a_second=6.0, hit=varied))
    alone = replace(made, cached=made.prompt, output=np.ones_like(made.output))
    assert capacity(alone, use(made), 0.9) is None

"""What a replay starts from: which cached tokens, how much KV memory, and why there is none."""

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from worlds import LIMITS, served

from tracemortem.incident import Impact, Incident
from tracemortem.replay.recorded import requests
from tracemortem.steps.world import Missing, afterwards, rebuilt

AT = datetime(2026, 3, 11, 2, 17, tzinfo=UTC)
INCIDENT = Incident(
    "i", "edge", "confirmed", AT, None, AT, AT, "p99_s", 1.0, 3.0, None, "", "",
    Impact(1, None, None, None, None),
)  # fmt: skip
VALUES = {
    "replay_covered_share": 0.95, "replay_full_ratio": 0.9, "replay_quantified_error": 0.15,
    "replay_kv_blocks": 0.0, "replay_block_tokens": 16.0, "replay_step_tokens": 2048.0,
    "replay_running_requests": 256.0,
}  # fmt: skip
TOKENS = 40_000


class Tables:
    """The tables of a file, by a word of the query that asks for them."""

    def __init__(self, known, engine, use=None):
        self._frames = {"is_known": known, "gpu_blocks": engine, "usage_ratio": use}

    def frame(self, sql, params=None):
        return next(frame for word, frame in self._frames.items() if f"as {word}" in sql or f".{word}" in sql)


def known(*, cached=True, hashes=False, **changes):
    frame = served(**changes)
    blocks = [
        list(range(100 * (n % 40), 100 * (n % 40) + 8)) if hashes else None for n in range(frame.height)
    ]
    frame = frame.with_columns(
        origin_s=pl.lit(0.0), is_known=pl.lit(value=True),
        block_hashes=pl.Series(blocks, dtype=pl.List(pl.UInt64)),
        block_size_tokens=pl.lit(64 if hashes else None, pl.UInt16),
    )  # fmt: skip
    return frame if cached else frame.with_columns(cached_tokens=pl.lit(None, pl.Int64))


def engine(blocks=None, fullest=0.3):
    schema = {"blocks": pl.Float64, "block": pl.Float64, "fullest": pl.Float64}
    return pl.DataFrame([(blocks, 16.0, fullest)], schema=schema, orient="row")


def use(frame):
    """Scrapes of engines with so many tokens of memory, none of them shared."""
    made, rows = requests(frame), []
    held = made.prompt + (made.output - 1) / 2.0
    for at in np.arange(60.0, 2300.0, 10.0):
        for number in range(made.replicas):
            there = (made.replica == number) & (made.first <= at) & (at < made.last)
            rows.append((f"engine-{number}", at, held[there].sum() / TOKENS))
    return pl.DataFrame(rows, schema=["replica", "at_s", "usage_ratio"], orient="row")


def test_recorded_cached_tokens_stay_in_use_and_hashes_tell_what_would_be_evicted():
    frame = known(hashes=True)
    found = rebuilt(Tables(frame, engine(blocks=64.0)), INCIDENT, VALUES)
    assert (found.cache_from, found.is_size_told, found.inferred) == ("recorded", True, None)
    assert found.world.made.cached.tolist() == requests(frame).cached.tolist()
    assert found.world.prefixes.cache_blocks == 64 * 16 // 64


def test_without_recorded_cached_tokens_they_are_what_a_cache_of_the_engines_size_finds():
    found = rebuilt(Tables(known(hashes=True, cached=False), engine(blocks=5000.0)), INCIDENT, VALUES)
    made, same = found.world.made, found.world.prefixes
    assert found.cache_from == "blocks"
    assert made.cached.tolist() == same.found.tolist()
    assert made.cached.max() == 8 * 64


def test_without_hashes_nothing_is_told_of_what_evicts_what():
    found = rebuilt(Tables(known(), engine(blocks=5000.0)), INCIDENT, VALUES)
    assert (found.cache_from, found.world.prefixes) == ("recorded", None)


def test_memory_that_was_full_has_the_size_that_its_use_tells():
    frame = known(hit=lambda at_s: 0.2 if at_s % 7 < 3 else 0.8)
    found = rebuilt(Tables(frame, engine(fullest=0.97), use(frame)), INCIDENT, VALUES)
    assert found.inferred.tokens == pytest.approx(TOKENS, rel=0.1)
    assert found.world.model.limits.blocks == int(found.inferred.tokens // LIMITS.block)


def test_memory_that_was_full_and_whose_size_nothing_tells_is_a_reason_not_to_replay():
    frame = known()
    found = rebuilt(Tables(frame, engine(fullest=0.97), use(frame).head(10)), INCIDENT, VALUES)
    why = "the KV cache was full, its size is not recorded, and its use does not tell it"
    assert found == Missing(f"{why} (set replay_kv_blocks)", 1.0)


def test_memory_whose_size_its_use_tells_too_roughly_is_one_too():
    frame = known()  # half of each prompt is cached, always: what is shared cannot be told from what is not
    found = rebuilt(Tables(frame, engine(fullest=0.97), use(frame)), INCIDENT, VALUES)
    assert isinstance(found, Missing)
    assert "from its use it is " in found.why


def going_on(**changes):
    """The incident's requests of `known`, and ten minutes after it, part of them at an engine that is new."""
    during = known(**changes).filter(pl.col("phase") == "during")
    after = known(seed=8, **changes).filter(pl.col("started_s") < 600)
    is_new = pl.col("started_s") >= 300
    return during, after.with_columns(
        pl.col("arrival_s", "started_s") + 2400,
        phase=pl.lit("after"),
        replica=pl.when(is_new).then(pl.lit("another")).otherwise("replica"),
    )


def test_the_minutes_after_the_incident_have_the_engines_of_it_and_new_ones_behind_them():
    found = rebuilt(Tables(known(), engine()), INCIDENT, VALUES)
    during, after = going_on()
    made, is_after = afterwards(Tables(pl.concat([known(), after]), engine()), INCIDENT, found, VALUES)
    assert found.replicas == ("engine-0", "engine-1")
    assert (is_after.sum(), (~is_after).sum()) == (after.height, during.height)
    assert made.is_during.tolist() == (~is_after).tolist()
    names = np.array([*found.replicas, "another"])[made.replica]
    assert set(names[is_after & (made.started >= 2700)]) == {"another"}
    assert set(names[made.started < 2700]) == set(found.replicas)
    first = np.flatnonzero(is_after)[0]
    assert made.started[first] == after.sort("arrival_s")["started_s"][0]


def test_minutes_of_which_too_little_is_known_or_that_are_not_there_tell_nothing():
    found = rebuilt(Tables(known(), engine()), INCIDENT, VALUES)
    _, after = going_on()
    unknown = after.with_columns(is_known=pl.col("started_s") >= 2520)
    assert afterwards(Tables(pl.concat([known(), unknown]), engine()), INCIDENT, found, VALUES) is None
    assert afterwards(Tables(known(), engine()), INCIDENT, found, VALUES) is None


def test_what_a_cache_by_hashes_would_have_held_afterwards_is_not_told():
    frame = known(hashes=True, cached=False)
    found = rebuilt(Tables(frame, engine(blocks=5000.0)), INCIDENT, VALUES)
    _, after = going_on(hashes=True, cached=False)
    assert afterwards(Tables(pl.concat([frame, after]), engine()), INCIDENT, found, VALUES) is None

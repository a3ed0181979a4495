"""The law, the slowness and the cache of engines are found again in the times of their requests."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from worlds import INCIDENT, LAW, LIMITS, served

from tracemortem.replay.least_squares import robust
from tracemortem.replay.model import Limits, calibrated
from tracemortem.replay.recorded import requests, with_inferred_cache

RUNS = [
    ("RTXPRO6000/Llama-3.1-8B", 1, Limits(2048, 128, 1 << 40, 16)),
    ("RTXPRO6000/Qwen3-32B", 1, Limits(2048, 128, 1 << 40, 16)),
    ("RTXPRO6000/Qwen3-30B-A3B-Instruct-2507", 2, Limits(2048, 128, 1 << 40, 16)),
    ("RTX4090/Llama-3.1-8B", 1, Limits(2048, 256, 2588, 16)),
]


def test_an_outlier_and_a_negative_coefficient_spoil_no_fit():
    rows = np.array([[1.0, x, 0.1 * x * x] for x in range(30)])
    wanted = rows @ np.array([2.0, 0.5, 0.0]) - 0.001 * rows[:, 2]
    wanted[3] = 1000.0
    found = robust(rows, wanted)
    np.testing.assert_allclose(found, [2.0, 0.5, 0.0], atol=0.05)
    assert found[2] == 0


def test_the_law_that_served_the_requests_is_found_again():
    made = requests(served(is_long=lambda at, chance: chance < 0.02))
    model = calibrated(made, LIMITS)
    tokens = np.array([1, 500, 4, 4000, 500 * 400])
    assert model.law @ tokens == pytest.approx(LAW @ tokens, rel=0.05)
    assert model.slowness.tolist() == np.ones_like(model.slowness).tolist()
    replayed = model.times(made)[:, 2] - made.arrival
    recorded = made.last - made.arrival
    assert np.quantile(replayed, 0.99) == pytest.approx(np.quantile(recorded, 0.99), rel=0.03)


def test_a_replica_that_is_slower_by_a_seventh_is_told_with_when():
    model = calibrated(requests(served(slower={1: 1.15})), LIMITS)
    since = INCIDENT * 60 // 300
    assert model.slowness[0].tolist() == [1.0] * model.slowness.shape[1]
    assert model.slowness[1, :since].tolist() == [1.0] * since
    np.testing.assert_allclose(model.slowness[1, since : since + 4], 1.15, rtol=0.04)


def test_steps_that_stall_now_and_then_all_the_time_make_no_engine_slower_than_usual():
    stalled = pl.when(pl.int_range(pl.len()) % 20 == 0).then(3.0).otherwise(0.0)
    made = requests(served().with_columns(pl.col("engine_s", "duration_s") + stalled))
    assert calibrated(made, LIMITS).slowness.min() == calibrated(made, LIMITS).slowness.max() == 1.0


@pytest.mark.parametrize(("a_second", "within"), [(6.0, 0.985), (18.0, 0.95)])  # few share a step, and most
def test_what_was_cached_is_told_from_prefill_times_and_counters(a_second, within):
    made = requests(served(hit=lambda at_s: 0.2 if at_s % 7 < 3 else 0.8, a_second=a_second))
    counted = (
        pl.DataFrame(
            {
                "replica": made.replica,
                "minute": (made.first // 60).astype(np.int64),
                "tokens": (made.prompt - made.cached).astype(np.float64),
            }
        )
        .group_by("replica", "minute")
        .agg(pl.col("tokens").sum())
        .sort("replica", "minute")
    )
    blind = replace(made, cached=np.zeros_like(made.cached))
    found = with_inferred_cache(blind, counted, 16)
    computed, told = made.prompt - made.cached, found.prompt - found.cached
    assert told.sum() == pytest.approx(computed.sum(), rel=0.02)
    assert np.corrcoef(computed, told)[0, 1] > within


def test_without_a_counter_nothing_is_taken_for_cached():
    made = replace(requests(served(a_second=1.0)), cached=np.zeros(2400, np.int64))
    nothing = pl.DataFrame(schema={"replica": pl.Int64, "minute": pl.Int64, "tokens": pl.Float64})
    assert with_inferred_cache(made, nothing, 16) is made


@pytest.mark.parametrize(("name", "replicas", "limits"), RUNS, ids=[name for name, *_ in RUNS])
def test_real_runs_are_told_to_six_percent_from_their_first_half(shared, name, replicas, limits):
    """Calibrated on the half that was done first, the other half's P99s are told to 6 %."""
    path = shared / "corpus/llm_traces/llmservingsim-vllm-bench" / name / "vllm/requests.jsonl"
    rows = pl.DataFrame([json.loads(line) for line in path.read_text().splitlines()]).sort("queued_ts")
    since = {
        column: pl.col(f"{column}_ts") - pl.col("queued_ts")
        for column in ("scheduled", "first_token", "last_token")
    }
    at_s = pl.col("queued_ts") - pl.col("queued_ts").min()
    made = requests(
        rows.select(
            replica=pl.int_range(pl.len()) % replicas, arrival_s=at_s, front_s=pl.lit(0.0),
            queue_s=since["scheduled"], ttft_s=since["first_token"], engine_s=since["last_token"],
            prompt_tokens="input_toks", cached_tokens=pl.lit(0), output_tokens="output_toks",
            started_s=at_s, duration_s=since["last_token"], client_ip=pl.lit(None, pl.String),
            phase=pl.lit("baseline"),
        )
    )  # fmt: skip
    is_known = made.last <= np.sort(made.last)[len(made.last) // 2 - 1]
    times = calibrated(made, limits, used=is_known).times(made)
    for recorded, replayed in ((made.first, times[:, 1]), (made.last, times[:, 2])):
        told, was = (np.quantile((ends - made.arrival)[~is_known], 0.99) for ends in (replayed, recorded))
        assert told == pytest.approx(was, rel=0.06)

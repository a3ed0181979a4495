"""What is usual, from made-up latencies."""

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from tracemortem.detect.arrivals import by_service
from tracemortem.detect.usual import by_minute, first_guess, histogram, local_quantile, opening
from tracemortem.detect.watches import watches

BEGIN = int(datetime(2026, 3, 2, tzinfo=UTC).timestamp()) * 1_000_000


def arrivals(minute, latency_s):
    frame = pl.DataFrame({"started_at": BEGIN + np.asarray(minute) * 60_000_000, "latency_s": latency_s})
    (found,) = by_service(
        frame.select(
            pl.lit("chat").alias("service"),
            pl.lit(None, pl.String).alias("model"),
            pl.col("started_at").cast(pl.Datetime("us", "UTC")),
            "latency_s",
            pl.lit(value=False).alias("is_cut"),
        ),
        watches()["request_latency"],
    )
    return found


def every_minute(minutes, rate, seed=1):
    rng = np.random.default_rng(seed)
    return np.repeat(np.arange(minutes), rate), np.exp(0.5 * rng.normal(size=minutes * rate))


@pytest.mark.parametrize("quantile", [0.9, 0.95, 0.99])
def test_the_quantile_of_a_histogram_is_the_exact_one_to_a_percent(quantile):
    minute, latency_s = every_minute(120, 50)
    table = histogram(arrivals(minute, latency_s), np.ones(120, dtype=bool), 10)
    (log_s,) = table.quantile(table.counts.sum(axis=0, keepdims=True), quantile)
    assert np.exp(log_s) == pytest.approx(np.quantile(latency_s, quantile), rel=0.01)


def test_minutes_that_are_not_quiet_do_not_count():
    minute, latency_s = every_minute(120, 50)
    is_slow = (minute >= 40) & (minute < 60)
    quiet = np.ones(120, dtype=bool)
    quiet[40:60] = False
    table = histogram(arrivals(minute, latency_s * np.where(is_slow, 9, 1)), quiet, 10)
    usual = local_quantile(table, 0.9, 180)
    assert np.exp(usual) == pytest.approx(np.full(12, np.quantile(latency_s[~is_slow], 0.9)), rel=0.01)


def test_the_first_guess_does_not_mind_a_spike_of_half_the_recording():
    minute, latency_s = every_minute(120, 100)
    slow = latency_s * np.where(minute >= 60, 9, 1)
    table = histogram(arrivals(minute, slow), np.ones(120, dtype=bool), 10)
    assert np.exp(first_guess(table, 0.9, 180, 0.4)) == pytest.approx(np.full(12, 1.9), rel=0.1)


def test_the_first_guess_is_not_known_where_there_are_too_few_requests():
    table = histogram(arrivals([0, 5, 11], [1.0, 2.0, 3.0]), np.ones(12, dtype=bool), 10)
    assert np.isnan(first_guess(table, 0.99, 180, 0.4)).tolist() == [True, True]


def test_the_opening_is_what_the_first_ten_minutes_show_as_far_as_they_reach():
    minute, latency_s = every_minute(120, 100)
    table = histogram(
        arrivals(minute, latency_s * np.where(minute >= 10, 9, 1)), np.ones(120, dtype=bool), 10
    )
    found = np.exp(opening(table, 0.9, 60))
    assert (found[:7] == pytest.approx(np.full(7, 1.9), rel=0.1), found[7:].tolist()) == (True, [np.inf] * 5)


def test_the_opening_is_as_long_as_it_takes_to_know_the_quantile():
    minute, latency_s = every_minute(120, 2)
    table = histogram(arrivals(minute, latency_s), np.ones(120, dtype=bool), 10)
    (own,) = table.quantile(table.counts[:2].sum(axis=0, keepdims=True), 0.9)
    assert opening(table, 0.9, 60).tolist() == [own] * 7 + [np.inf] * 5


def test_where_no_stretch_has_the_requests_there_is_no_opening():
    table = histogram(arrivals([0, 5, 11], [1.0, 2.0, 3.0]), np.ones(12, dtype=bool), 10)
    assert opening(table, 0.99, 180).tolist() == [np.inf, np.inf]


def test_a_few_quiet_minutes_amid_a_long_spike_do_not_say_what_is_usual():
    minute, latency_s = every_minute(1440, 20)
    quiet = np.ones(1440, dtype=bool)
    quiet[400:1000] = False
    quiet[700:710] = True
    slow = latency_s * np.where((minute >= 400) & (minute < 1000), 9, 1)
    usual = local_quantile(histogram(arrivals(minute, slow), quiet, 10), 0.9, 180)
    assert np.exp(usual[70]) < 3  # 1.9 outside the spike, 17 within


def test_what_is_usual_follows_the_day():
    minute, latency_s = every_minute(1440, 50)
    growing = latency_s * np.exp(minute / 1440)
    usual = local_quantile(histogram(arrivals(minute, growing), np.ones(1440, dtype=bool), 10), 0.9, 180)
    assert usual[108] - usual[36] == pytest.approx(0.5, abs=0.05)


def test_a_quantile_that_the_whole_recording_is_too_small_for_is_not_known():
    minute, latency_s = every_minute(9, 1)
    usual = local_quantile(histogram(arrivals(minute, latency_s), np.ones(9, dtype=bool), 10), 0.9, 180)
    assert np.isnan(usual).tolist() == [True]


def test_between_the_middles_of_blocks_runs_a_straight_line():
    values = by_minute(np.array([0.0, 10.0]), 20, 10)
    assert values.tolist() == [0.0] * 5 + [0.5 + i for i in range(10)] + [10.0] * 5

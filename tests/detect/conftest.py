"""Made-up traffic for the tests of detection, and the watch that looks at it."""

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from tracemortem.detect.watches import watches

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture(scope="session")
def watch():
    """The watch on request latency, as it ships."""
    return watches()["request_latency"]


@pytest.fixture(scope="session")
def traffic():
    """A maker of requests.

    seed       of everything random
    minutes    length of the recording, from midnight of BEGIN
    rate       requests a minute, at the day's peak where `daily`
    slow       (first minute, last minute exclusive, factor, share of requests it hits)
    silent     (first minute, last minute exclusive) without any request
    daily      factor between the latency at the day's peak and at its trough; traffic swings fourfold
    wander     standard deviation of a level of log latency that forgets itself in 20 minutes
    """

    def make(
        seed=1, minutes=120, rate=100, slow=(), silent=(), daily=1.0, wander=0.0, service="chat", model=None
    ):
        rng = np.random.default_rng(seed)
        day = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(minutes) / 1440)
        rates = rate * (0.25 + 0.75 * day if daily != 1 else np.ones(minutes))
        for first, last in silent:
            rates[first:last] = 0
        level = np.zeros(minutes)
        for minute in range(1, minutes):
            level[minute] = 0.95 * level[minute - 1] + rng.normal(0, wander * np.sqrt(1 - 0.95**2))
        level += np.log(daily) * day
        minute = np.repeat(np.arange(minutes), rng.poisson(rates))
        log_s = np.log(0.8) + level[minute] + 0.5 * rng.normal(size=minute.size)
        for first, last, factor, share in slow:
            hit = (minute >= first) & (minute < last) & (rng.random(minute.size) < share)
            log_s[hit] += np.log(factor)
        offset = minute * 60_000_000 + rng.integers(0, 60_000_000, minute.size)
        return pl.DataFrame({"offset": offset, "latency_s": np.exp(log_s)}).select(
            pl.lit(service).alias("service"),
            pl.lit(model, pl.String).alias("model"),
            (pl.lit(BEGIN).cast(pl.Datetime("us", "UTC")) + pl.duration(microseconds="offset")).alias(
                "started_at"
            ),
            "latency_s",
            pl.lit(value=False).alias("is_cut"),
        )

    return make

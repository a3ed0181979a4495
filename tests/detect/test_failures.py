"""Spikes of failure, in requests whose fates are made up."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from tracemortem.detect.failures import failures

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)


def fates(traffic, share, failing=(), rate=60, minutes=240, service="chat"):
    """Requests of which `share` fail, and in minutes first to last - 1 of `failing` another share."""
    requests = traffic(1, minutes, rate, service=service)
    minute = ((requests["started_at"] - BEGIN).dt.total_seconds() // 60).to_numpy()
    shares = np.full(minute.size, share)
    for first, last, other in failing:
        shares[(minute >= first) & (minute < last)] = other
    drawn = np.random.default_rng(3).random(minute.size)
    return requests.select("service", "started_at", pl.Series("is_failed", drawn < shares))


def found(requests, watch):
    minutes = timedelta(minutes=1)
    return [
        (one.status, (one.start - BEGIN) / minutes, None if one.end is None else (one.end - BEGIN) / minutes)
        for one in failures(requests, watch)
    ]


@pytest.mark.parametrize("share", [0.05, 0.2, 1.0])
def test_a_stretch_in_which_requests_fail_is_a_spike(traffic, watch, share):
    ((status, start, end),) = found(fates(traffic, 0.001, [(100, 130, share)]), watch)
    assert (status, abs(start - 100) <= 3, abs(end - 130) <= 3) == ("confirmed", True, True)


def test_failures_that_are_usual_are_no_spike(traffic, watch):
    assert found(fates(traffic, 0.1), watch) == []


def test_a_rise_above_failures_that_are_usual_is_a_spike(traffic, watch):
    ((status, *_),) = found(fates(traffic, 0.1, [(100, 130, 0.3)]), watch)
    assert status == "confirmed"


def test_a_rise_by_less_than_one_in_fifty_is_no_spike(traffic, watch):
    assert found(fates(traffic, 0.001, [(100, 160, 0.018)], rate=300), watch) == []


def test_two_minutes_of_failures_are_a_candidate(traffic, watch):
    ((status, *_),) = found(fates(traffic, 0.001, [(100, 102, 0.8)]), watch)
    assert status == "candidate"


def test_a_service_that_never_fails_has_no_spike(traffic, watch):
    assert found(fates(traffic, 0.0), watch) == []


def test_failures_at_the_end_go_on(traffic, watch):
    ((status, _, end),) = found(fates(traffic, 0.001, [(200, 240, 0.3)]), watch)
    assert (status, end) == ("confirmed", None)


def test_the_reason_says_how_many_failed_and_how_many_do(traffic, watch):
    (spike,) = failures(fates(traffic, 0.001, [(100, 130, 1.0)]), watch)
    assert (spike.metric, spike.reason) == (
        "error_rate",
        "100.0% of 1,827 requests failed (5xx, or the client gave up), where 0.5% are usual over the quiet "
        "minutes recorded; so it was in 30 of 30 minutes",
    )


def test_the_spike_of_one_service_is_not_that_of_another(traffic, watch):
    both = [
        fates(traffic, 0.001, [(100, 130, 0.5)], service="rag"),
        fates(traffic, 0.001, service="chat"),
    ]
    assert [one.service for one in failures(pl.concat(both), watch)] == ["rag"]

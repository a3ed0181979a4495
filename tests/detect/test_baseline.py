"""Which quiet minutes a report shows beside a spike."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from tracemortem.detect.baseline import Baseline, baseline, runs, stated
from tracemortem.errors import SettingError
from tracemortem.incident import Spike


def chosen(watch, quiet, *, begins, ends, rate=20):
    flags = np.zeros(240, dtype=bool)
    for first, last in quiet:
        flags[first:last] = True
    return baseline(np.full(240, rate), flags, begins=begins, ends=ends, watch=watch)


def test_the_hour_before_is_preferred(watch):
    assert chosen(watch, [(0, 100), (130, 240)], begins=100, ends=130) == Baseline(
        40, 100, "the 60 quiet minutes before the spike (1,200 requests)"
    )


def test_with_too_few_minutes_before_it_is_the_hour_after(watch):
    assert chosen(watch, [(0, 9), (30, 240)], begins=9, ends=30) == Baseline(
        30,
        90,
        "the 60 quiet minutes after the spike (1,200 requests), since too little was recorded before it",
    )


def test_ten_minutes_with_two_hundred_requests_are_enough(watch):
    assert chosen(watch, [(0, 10), (30, 240)], begins=10, ends=30) == Baseline(
        0, 10, "the 10 quiet minutes before the spike (200 requests)"
    )


def test_an_earlier_quiet_run_is_taken_where_the_nearest_is_too_short(watch):
    assert chosen(watch, [(0, 90), (95, 100), (130, 240)], begins=100, ends=130) == Baseline(
        30, 90, "the 60 quiet minutes before the spike (1,200 requests)"
    )


def test_a_quiet_run_more_than_three_hours_before_is_too_far(watch):
    assert chosen(watch, [(0, 15), (220, 240)], begins=200, ends=220) == Baseline(
        220,
        240,
        "the 20 quiet minutes after the spike (400 requests), since too little was recorded before it",
    )


@pytest.mark.parametrize(
    ("days", "said"), [(1, "at the same time the day before"), (7, "at the same time 7 days earlier")]
)
def test_with_too_few_minutes_before_it_is_the_same_time_of_an_earlier_day(watch, days, said):
    begins = days * 1440 + 120
    flags = np.zeros(begins + 200, dtype=bool)
    flags[100:145] = True
    flags[begins + 30 :] = True
    counts = np.full(flags.size, 20)
    assert baseline(counts, flags, begins=begins, ends=begins + 30, watch=watch) == Baseline(
        120, 145, f"the 25 quiet minutes {said} (500 requests), since too little was recorded before it"
    )


def test_the_same_day_of_the_week_is_preferred_to_the_day_before(watch):
    begins = 8 * 1440
    flags = np.zeros(begins + 30, dtype=bool)
    for day in (1, 7):
        flags[day * 1440 : day * 1440 + 30] = True
    found = baseline(np.full(flags.size, 20), flags, begins=begins, ends=begins + 30, watch=watch)
    assert (found.first, found.last) == (1440, 1470)


def test_where_none_is_ample_it_is_the_one_with_most_requests(watch):
    assert chosen(watch, [(0, 50), (80, 120)], begins=50, ends=80, rate=3) == Baseline(
        0, 50, "only 50 quiet minutes with 150 requests, the most there are"
    )


def test_where_no_minute_is_quiet_it_is_the_whole_recording(watch):
    assert chosen(watch, [], begins=0, ends=240) == Baseline(
        0, 240, "the whole recording, since no minute of it was quiet"
    )


def test_runs_are_the_stretches_of_true_flags():
    assert runs(np.array([True, False, True, True])) == [(0, 1), (2, 4)]


BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
SPIKE = Spike(
    service="chat", status="confirmed", start=BEGIN + timedelta(hours=2), end=None, metric="", reason="",
    onset_earliest=BEGIN, onset_latest=BEGIN, baseline_start=BEGIN, baseline_end=BEGIN, baseline_from="",
)  # fmt: skip
REQUESTS = pl.DataFrame(
    {"service": ["chat"] * 60, "started_at": [BEGIN + timedelta(minutes=number) for number in range(60)]},
    schema_overrides={"started_at": pl.Datetime("us", "UTC")},
)


def test_a_time_that_is_set_takes_the_place_of_what_was_chosen(watch):
    usual = (BEGIN + timedelta(minutes=10), BEGIN + timedelta(minutes=30))
    [spike] = stated([SPIKE], REQUESTS, usual, watch)
    assert (spike.baseline_start, spike.baseline_end, spike.baseline_from) == (
        *usual,
        "the time set with --baseline",
    )


def test_a_time_in_which_a_service_hardly_had_a_request_is_refused(watch):
    usual = (BEGIN + timedelta(minutes=41), BEGIN + timedelta(minutes=90))
    with pytest.raises(SettingError) as caught:
        stated([SPIKE], REQUESTS, usual, watch)
    assert caught.value.what == "chat cannot be compared with the baseline that was set"
    assert caught.value.where == "--baseline 2026-03-02T00:41:00Z/2026-03-02T01:30:00Z"

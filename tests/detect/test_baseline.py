"""Which quiet minutes a report shows beside a spike."""

import numpy as np

from tracemortem.detect.baseline import Baseline, baseline, runs


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

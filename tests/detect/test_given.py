"""A window that the user gives: whose it is, what it is compared with, and whether anything rose in it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from tracemortem.detect.given import given
from tracemortem.errors import SettingError
from tracemortem.incident import Spike

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)


def minute(number: float) -> datetime:
    return BEGIN + timedelta(minutes=number)


def steady(
    first: int, last: int, seconds: float, service: str = "chat", every_s: int = 2, slow: float | None = None
) -> pl.DataFrame:
    """Requests of one length, every so many seconds; with `slow` every tenth takes that long."""
    offsets = range(60 * first, 60 * last, every_s)
    return pl.DataFrame(
        {
            "service": [service] * len(offsets),
            "started_at": [BEGIN + timedelta(seconds=offset) for offset in offsets],
            "latency_s": [
                slow if slow is not None and number % 10 == 0 else seconds for number in range(len(offsets))
            ],
        },
        schema={"service": pl.String, "started_at": pl.Datetime("us", "UTC"), "latency_s": pl.Float64},
    )


def test_a_window_is_compared_with_the_hour_before_it(watch):
    requests = pl.concat([steady(0, 90, 1.0), steady(90, 100, 3.0), steady(100, 120, 1.0)])
    [spike] = given(requests, watch, minute(90), minute(100))
    assert (spike.service, spike.status, spike.start, spike.end) == (
        "chat",
        "confirmed",
        minute(90),
        minute(100),
    )
    assert (spike.baseline_start, spike.baseline_end) == (minute(30), minute(90))
    assert spike.baseline_from == "the 60 minutes before the window that was given"
    assert spike.metric == "request_latency_p99"
    assert spike.reason == "the window was given, not found; p99 in it was 3 s, 3.00 times what it was before"


def test_a_window_is_widened_to_whole_minutes(watch):
    requests = pl.concat([steady(0, 60, 1.0), steady(60, 80, 3.0)])
    [spike] = given(requests, watch, minute(60.5), minute(69.5))
    assert (spike.start, spike.end, spike.onset_earliest) == (minute(60), minute(70), minute(60))


def test_a_window_at_the_beginning_is_compared_with_what_follows(watch):
    requests = pl.concat([steady(0, 10, 3.0), steady(10, 40, 1.0)])
    [spike] = given(requests, watch, minute(0), minute(10))
    assert (spike.baseline_start, spike.baseline_end) == (minute(10), minute(40))
    assert spike.baseline_from == "the 30 minutes after the window that was given"


def test_a_window_in_which_nothing_rose_is_a_candidate(watch):
    [spike] = given(steady(0, 120, 1.0), watch, minute(90), minute(100))
    assert (spike.status, spike.reason) == (
        "candidate",
        "the window was given, not found; p99 in it was 1 s, 1.00 times what it was before; "
        "with less than 1.3 times there is nothing to explain",
    )


def test_a_rise_below_the_highest_quantile_is_one(watch):
    """Where timeouts cap the highest quantile, the spike shows below it."""
    requests = pl.concat([steady(0, 60, 1.0, slow=10.0), steady(60, 80, 5.0, slow=10.0)])
    [spike] = given(requests, watch, minute(60), minute(80))
    assert (spike.status, spike.metric) == ("confirmed", "request_latency_p90")


def test_of_several_services_it_is_the_one_that_rose_most(watch):
    requests = pl.concat(
        [
            steady(0, 60, 1.0), steady(60, 80, 1.5),
            steady(0, 60, 0.1, "embed"), steady(60, 80, 0.4, "embed"),
        ]
    )  # fmt: skip
    assert [spike.service for spike in given(requests, watch, minute(60), minute(80))] == ["embed"]


def test_a_service_with_few_requests_is_no_yardstick(watch):
    rare = pl.concat([steady(0, 60, 1.0, "rare", every_s=300), steady(60, 80, 9.0, "rare", every_s=300)])
    requests = pl.concat([rare, steady(0, 60, 1.0), steady(60, 80, 2.0)])
    assert [spike.service for spike in given(requests, watch, minute(60), minute(80))] == ["chat"]


@pytest.mark.parametrize("window", [(500, 510), (0, 60)])
def test_a_window_without_anything_beside_it_is_refused(watch, window):
    with pytest.raises(SettingError) as caught:
        given(steady(0, 60, 1.0), watch, minute(window[0]), minute(window[1]))
    assert caught.value.what == "the window cannot be compared with anything"
    assert caught.value.where.startswith("--window 2026-03-02T0")


def test_a_recording_without_requests_is_refused(watch):
    with pytest.raises(SettingError):
        given(steady(0, 0, 1.0), watch, minute(0), minute(10))


def a_spike(first: int, last: int | None) -> Spike:
    return Spike(
        service="chat", status="candidate", start=minute(first), end=None if last is None else minute(last),
        onset_earliest=minute(first), onset_latest=minute(first), metric="request_latency_p99",
        baseline_start=minute(0), baseline_end=minute(0), baseline_from="", reason="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("busy", "usual"),
    [
        ([], (60, 120)),
        ([(80, 100)], (100, 120)),  # an incident before the window
        ([(110, 140)], (50, 110)),  # the window is a part of an incident
        ([(70, 90), (110, None)], (90, 110)),
    ],
)
def test_what_lies_in_another_spike_is_not_compared_with(watch, busy, usual):
    requests = pl.concat([steady(0, 120, 1.0), steady(120, 130, 3.0), steady(130, 200, 1.0)])
    [spike] = given(requests, watch, minute(120), minute(130), [a_spike(*one) for one in busy])
    assert (spike.baseline_start, spike.baseline_end) == (minute(usual[0]), minute(usual[1]))


def test_where_all_before_is_a_spike_the_quiet_time_after_is_compared_with(watch):
    requests = steady(0, 200, 1.0)
    [spike] = given(requests, watch, minute(20), minute(30), [a_spike(0, 40), a_spike(80, 90)])
    assert (spike.baseline_start, spike.baseline_end) == (minute(40), minute(80))


def test_the_spikes_of_another_service_do_not_matter(watch):
    other = replace(a_spike(80, 100), service="embed")
    [spike] = given(steady(0, 200, 1.0), watch, minute(120), minute(130), [other])
    assert (spike.baseline_start, spike.baseline_end) == (minute(60), minute(120))

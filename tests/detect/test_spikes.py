"""Simulated traffic in, spikes out."""

import time
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from tracemortem.detect.spikes import spikes
from tracemortem.detect.watches import watches

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)


def minute(at):
    """Minutes since the beginning of the recording."""
    return None if at is None else (at - BEGIN) / timedelta(minutes=1)


def near(found, wanted, by=1):
    """Whether windows are those wanted, each edge to `by` minutes: an edge hangs on a request or two."""
    pairs = zip(found, wanted, strict=False)
    return len(found) == len(wanted) and all(
        abs(a - c) <= by and abs(b - d) <= by for (a, b), (c, d) in pairs
    )


def windows(found, status="confirmed"):
    return [(minute(spike.start), minute(spike.end)) for spike in found if spike.status == status]


def test_four_weeks_of_quiet_days_give_no_false_alarm(traffic, watch):
    days = [traffic(seed, 1440, 20 + 5 * seed, daily=1.5, wander=0.05) for seed in range(28)]
    assert [windows(spikes(day, watch)) for day in days] == [[]] * 28


def test_a_level_that_wanders_by_a_tenth_gives_no_false_alarm(traffic, watch):
    days = [traffic(seed, 1440, 100, wander=0.1) for seed in range(14)]
    assert [windows(spikes(day, watch)) for day in days] == [[]] * 14


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("factor", "minutes"), [(1.6, 30), (1.6, 90), (2, 5), (2, 15), (3, 5), (3, 45), (5, 10), (5, 90)]
)
def test_a_step_is_found_within_two_minutes_of_its_edges(traffic, watch, seed, factor, minutes):
    requests = traffic(seed, 480, 60, slow=[(200, 200 + minutes, factor, 1)], wander=0.03)
    assert near(windows(spikes(requests, watch)), [(200, 200 + minutes)], by=2)


@pytest.mark.parametrize("seed", range(3))
def test_the_onset_interval_of_a_step_holds_it_to_the_minute(traffic, watch, seed):
    (spike,) = spikes(traffic(seed, 240, 60, slow=[(100, 130, 3, 1)]), watch)
    earliest, latest = minute(spike.onset_earliest), minute(spike.onset_latest)
    assert (99.5 <= earliest <= 100.5, earliest <= latest <= 101) == (True, True)


@pytest.mark.parametrize("window", [(40, 88), (36, 84), (60, 119)])
@pytest.mark.parametrize("factor", [1.6, 2, 4])
def test_a_spike_of_two_fifths_of_the_recording_or_half_is_not_its_own_baseline(
    traffic, watch, window, factor
):
    found = spikes(traffic(1, 120, 100, slow=[(*window, factor, 1)]), watch)
    assert near(windows(found), [window])


@pytest.mark.parametrize("factor", [2, 5])
def test_a_spike_of_two_thirds_of_the_recording_that_goes_on_at_its_end_is_found(traffic, watch, factor):
    found = windows(spikes(traffic(1, 100, 60, slow=[(35, 100, factor, 1)]), watch))
    assert [(round(start), end) for start, end in found] == [(35, None)]


def test_an_hour_or_two_that_begin_slightly_better_than_they_go_on_give_no_false_alarm(traffic, watch):
    short = [traffic(seed, 60 + seed, 60, wander=0.1, slow=[(20, 200, 1.1, 1)]) for seed in range(20)]
    assert [windows(spikes(one, watch)) for one in short] == [[]] * 20


def test_a_spike_of_five_hours_is_found_in_a_day(traffic, watch):
    found = spikes(traffic(1, 1440, 60, slow=[(700, 1000, 2, 1)], daily=1.3), watch)
    assert near(windows(found), [(700, 1000)])


@pytest.mark.parametrize("share", [0.08, 0.11, 0.15])
def test_a_spike_that_hits_a_small_share_of_requests_is_found_by_the_99th_percentile(traffic, watch, share):
    found = spikes(traffic(2, 240, 150, slow=[(100, 130, 4, share)]), watch)
    assert [spike.metric for spike in found] == ["request_latency_p99"]
    assert near(windows(found), [(100, 130)])


@pytest.mark.parametrize("rate", [3, 5, 10])
def test_a_spike_is_found_at_a_few_requests_a_minute(traffic, watch, rate):
    found = spikes(traffic(4, 480, rate, slow=[(200, 240, 3, 1)]), watch)
    assert near(windows(found), [(200, 240)], by=2)


def test_ten_days_of_a_few_requests_a_minute_give_no_false_alarm(traffic, watch):
    days = [traffic(seed, 1440, 3 + seed, daily=1.3) for seed in range(10)]
    assert [windows(spikes(day, watch)) for day in days] == [[]] * 10


def test_a_gap_without_requests_is_neither_a_spike_nor_its_end(traffic, watch):
    found = spikes(traffic(1, 240, 60, slow=[(100, 130, 3, 1)], silent=[(30, 50), (110, 122)]), watch)
    assert near(windows(found), [(100, 130)])


def test_a_gap_before_a_spike_widens_its_onset_to_the_gap(traffic, watch):
    (spike,) = spikes(traffic(1, 240, 60, slow=[(90, 130, 3, 1)], silent=[(90, 100)]), watch)
    earliest, latest = minute(spike.onset_earliest), minute(spike.onset_latest)
    assert (earliest < 91, latest > 99) == (True, True)


def test_two_spikes_an_hour_apart_are_two(traffic, watch):
    found = spikes(traffic(1, 360, 60, slow=[(100, 120, 3, 1), (180, 200, 2, 1)]), watch)
    assert near(windows(found), [(100, 120), (180, 200)])


def test_two_slow_stretches_eight_minutes_apart_are_one_spike(traffic, watch):
    found = spikes(traffic(1, 360, 60, slow=[(100, 120, 3, 1), (128, 150, 3, 1)]), watch)
    assert near(windows(found), [(100, 150)])


def test_a_spike_at_the_end_of_the_recording_is_still_going_on(traffic, watch):
    (spike,) = spikes(traffic(1, 120, 60, slow=[(95, 120, 3, 1)]), watch)
    assert (minute(spike.start), spike.end, spike.reason.split("; ")[-1]) == (
        95,
        None,
        "it was still going on when the recording ended",
    )


def test_a_spike_that_ends_two_minutes_before_the_recording_has_ended(traffic, watch):
    found = spikes(traffic(1, 120, 100, slow=[(95, 118, 3, 1)]), watch)
    assert windows(found) == [(95, 118)]


def test_a_spike_under_way_at_the_beginning_starts_with_the_recording(traffic, watch):
    requests = traffic(1, 120, 60, slow=[(0, 30, 3, 1)])
    (spike,) = spikes(requests, watch)
    assert (windows([spike]), spike.onset_earliest, spike.reason.split("; ")[-1]) == (
        [(0, 30)],
        requests["started_at"].min(),
        "it was under way when the recording began",
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_onset_interval_of_a_ramp_lies_where_it_becomes_visible(traffic, watch, seed):
    steps = [(200 + i, 201 + i, 1 + 2 * i / 120, 1) for i in range(120)]
    (spike,) = spikes(traffic(seed, 600, 60, slow=steps), watch)
    earliest, latest = minute(spike.onset_earliest), minute(spike.onset_latest)
    assert (200 <= earliest <= 230, latest <= 235, minute(spike.end)) == (True, True, 320)


def test_single_slow_requests_are_no_spike(traffic, watch):
    requests = traffic(1, 720, 5).with_columns(
        pl.when(pl.int_range(pl.len()) % 100 == 50).then(60.0).otherwise("latency_s").alias("latency_s")
    )
    assert spikes(requests, watch) == []


@pytest.mark.parametrize("length", [1, 2])
def test_a_blip_is_a_candidate_that_says_how_short_it_was(traffic, watch, length):
    (spike,) = spikes(traffic(1, 240, 100, slow=[(100, 100 + length, 6, 1)]), watch)
    assert (spike.status, windows([spike], "candidate"), spike.reason.split("; ")[-1]) == (
        "candidate",
        [(100, 100 + length)],
        "but an incident has 3 slow minutes or more",
    )


def test_two_terrible_minutes_with_noise_beside_them_are_a_candidate(traffic, watch):
    (spike,) = spikes(traffic(0, 240, 15, slow=[(100, 102, 6, 1), (102, 103, 1.5, 1)]), watch)
    assert (windows([spike], "candidate"), spike.reason.split("; ")[-1]) == (
        [(100, 103)],
        "but without its 2 worst minutes nothing unusual remains",
    )


def test_a_handful_of_slow_requests_is_a_candidate_that_says_how_few(traffic, watch):
    (spike,) = spikes(traffic(2, 480, 3, slow=[(200, 205, 8, 1)]), watch)
    assert (spike.status, spike.reason.split("; ")[-1]) == (
        "candidate",
        "but fewer than 20 requests prove little",
    )


def test_a_slight_rise_is_a_candidate_that_says_how_slight(traffic, watch):
    (spike,) = spikes(traffic(1, 480, 200, slow=[(200, 240, 1.4, 1)]), watch)
    assert (spike.status, windows([spike], "candidate"), spike.reason.split("; ")[-1]) == (
        "candidate",
        [(200, 240)],
        "but an incident stands at 1.5 times or more",
    )


def test_fast_requests_that_stay_away_make_a_spike_though_no_request_slowed(traffic, watch):
    usual = traffic(1, 240, 200)
    minutes = (pl.col("started_at") - BEGIN).dt.total_minutes()
    rare = traffic(2, 240, 1, slow=[(0, 240, 12, 1)])
    found = spikes(pl.concat([usual.filter(~minutes.is_between(100, 139)), rare]), watch)
    assert windows(found) == [(100, 140)]


def test_each_service_has_its_own_spike_and_the_earlier_comes_first(traffic, watch):
    engine = traffic(1, 240, 60, slow=[(101, 130, 3, 1)], service="engine")
    gateway = traffic(2, 240, 60, slow=[(90, 130, 3, 1)], service="gateway")
    found = spikes(pl.concat([engine, gateway]), watch)
    assert [spike.service for spike in found] == ["gateway", "engine"]
    assert near(windows(found), [(90, 130), (101, 130)])


def test_one_model_of_a_sixteenth_of_the_requests_is_found_by_its_name(traffic, watch):
    large = traffic(1, 240, 150, model="large")
    small = traffic(2, 240, 10, slow=[(100, 130, 3, 1)], model="small")
    found = [one for one in spikes(pl.concat([large, small]), watch) if one.model is not None]
    assert [(one.model, one.status) for one in found] == [("small", "confirmed")]
    assert near(windows(found), [(100, 130)])
    assert found[0].reason.startswith("of model small alone: p99 of latency was ")


def test_a_model_that_is_the_whole_service_is_not_looked_at_twice(traffic, watch):
    found = spikes(traffic(1, 240, 60, slow=[(100, 130, 3, 1)], model="large"), watch)
    assert [one.model for one in found] == [None]


@pytest.mark.parametrize(("is_known", "found"), [(True, [(100, 130)]), (False, [])])
def test_a_spike_shows_though_most_clients_gave_up_early(traffic, watch, is_known, found):
    requests = traffic(1, 240, 60, slow=[(100, 130, 3, 1)]).with_row_index()
    minutes = (pl.col("started_at") - BEGIN).dt.total_minutes()
    gave_up = minutes.is_between(100, 129) & (pl.col("index") % 25 != 0)
    told = requests.with_columns(
        latency_s=pl.when(gave_up).then(0.3).otherwise("latency_s"), is_cut=gave_up & is_known
    )
    assert near(windows(spikes(told, watch)), found, by=2)


def test_a_queue_that_grows_by_less_than_is_felt_is_no_spike(traffic):
    queue = watches()["queue"]
    small = traffic(1, 240, 60, slow=[(100, 130, 5, 1)]).with_columns(queue_s=pl.col("latency_s") / 100)
    large = small.with_columns(queue_s=pl.col("latency_s") / 2)
    assert (spikes(small, queue), near(windows(spikes(large, queue)), [(100, 130)])) == ([], True)


def test_the_order_of_rows_does_not_matter(traffic, watch):
    requests = traffic(1, 240, 60, slow=[(100, 130, 3, 1)])
    assert spikes(requests.sample(fraction=1, shuffle=True, seed=5), watch) == spikes(requests, watch)


def test_requests_of_unknown_or_negative_latency_are_left_out(traffic, watch):
    requests = traffic(1, 240, 60, slow=[(100, 130, 3, 1)])
    unknown = requests.with_columns(latency_s=pl.lit(None, pl.Float64))
    broken = requests.with_columns(latency_s=pl.lit(float("nan")))
    backward = requests.with_columns(latency_s=pl.lit(-1.0))
    assert spikes(pl.concat([requests, unknown, broken, backward]), watch) == spikes(requests, watch)


def test_no_requests_give_no_spikes(traffic, watch):
    assert spikes(traffic().head(0), watch) == []


def test_a_handful_of_requests_gives_no_spikes(traffic, watch):
    assert spikes(traffic().head(5), watch) == []


def test_requests_that_all_took_no_time_give_no_spikes(traffic, watch):
    assert spikes(traffic().with_columns(latency_s=pl.lit(0.0)), watch) == []


def test_a_request_dated_decades_off_changes_nothing(traffic, watch):
    requests = traffic(1, 240, 60, slow=[(100, 130, 3, 1)])
    long_ago = pl.lit(datetime(1970, 1, 1, tzinfo=UTC)).cast(pl.Datetime("us", "UTC"))
    stray = requests.head(1).with_columns(started_at=long_ago)
    assert spikes(pl.concat([stray, requests]), watch) == spikes(requests, watch)


def test_a_spike_before_hours_of_silence_ends_with_the_requests(traffic, watch):
    days = [
        traffic(1, 2 * 1440, 60, slow=[(95, 120, 3, 1)], silent=[(120, 2 * 1440)]),
        traffic(2, 2 * 1440, 60, silent=[(0, 1440)]),
    ]
    (spike,) = spikes(pl.concat(days), watch)
    assert (windows([spike]), spike.reason.split("; ")[-1]) == (
        [(95, 120)],
        "it was still going on when the requests ceased for hours",
    )


def test_the_reason_says_how_slow_for_how_long_and_how_many(traffic, watch):
    (spike,) = spikes(traffic(1, 240, 60, slow=[(100, 130, 3, 1)]), watch)
    assert (spike.status, spike.reason) == (
        "confirmed",
        "p99 of latency was 7.11 s, 2.76 times what is usual in the hours around; "
        "30 of 30 minutes were slow, with 810 of 1,827 requests (44.3%) beyond the usual p99, "
        "where 1% are expected",
    )


def test_the_baseline_is_the_hour_before_the_spike(traffic, watch):
    (spike,) = spikes(traffic(1, 240, 60, slow=[(100, 130, 3, 1)]), watch)
    assert (minute(spike.baseline_start), minute(spike.baseline_end), spike.baseline_from) == (
        40,
        100,
        "the 60 quiet minutes before the spike (3,629 requests)",
    )


def test_the_baseline_stays_clear_of_a_blip_within_the_hour_before(traffic, watch):
    found = spikes(traffic(1, 240, 60, slow=[(60, 61, 6, 1), (100, 130, 3, 1)]), watch)
    (spike,) = [one for one in found if one.status == "confirmed"]
    assert (minute(spike.baseline_start), spike.baseline_end <= spike.onset_earliest) == (61, True)


def test_the_same_requests_and_watch_give_the_same_spikes(traffic, watch):
    requests = traffic(3, 480, 30, slow=[(100, 130, 3, 0.2), (300, 302, 8, 1)], wander=0.1)
    assert spikes(requests, watch) == spikes(requests, watch)


def test_what_only_the_change_points_show_is_a_candidate_that_says_so(traffic):
    deaf = watches(overrides={"evidence": 1e9})["request_latency"]
    (spike,) = spikes(traffic(1, 240, 60, slow=[(100, 130, 3, 1)]), deaf)
    assert (spike.status, windows([spike], "candidate"), spike.reason.split("; ")[-1]) == (
        "candidate",
        [(100, 130)],
        "but the scan of slow requests sees no spike there",
    )


def test_what_only_the_scan_shows_is_a_candidate_that_says_so(traffic):
    rigid = watches(overrides={"shift_penalty": 1e9})["request_latency"]
    (spike,) = spikes(traffic(1, 240, 60, slow=[(100, 130, 3, 1)]), rigid)
    assert (spike.status, spike.reason.split("; ")[-1]) == ("candidate", "but no quantile moved and stayed")


NIGHTLY = [(day * 1440 + 120, day * 1440 + 150, 3, 1) for day in range(4)]


def test_a_nightly_job_is_no_spike_where_other_nights_show_it(traffic, watch):
    assert windows(spikes(traffic(1, 4 * 1440, 30, slow=NIGHTLY), watch)) == []


def test_a_nightly_job_of_the_only_night_recorded_is_a_spike(traffic, watch):
    assert near(windows(spikes(traffic(1, 1440, 30, slow=NIGHTLY[:1]), watch)), [(120, 150)])


def test_a_spike_among_nightly_jobs_is_found_and_says_what_it_is_compared_with(traffic, watch):
    found = spikes(traffic(1, 4 * 1440, 30, slow=[*NIGHTLY, (3600, 3640, 3, 1)]), watch)
    (spike,) = [one for one in found if one.status == "confirmed"]
    assert near(windows([spike]), [(3600, 3640)])
    assert "times what is usual at that time on other days; " in spike.reason


def test_a_nightly_job_that_is_three_times_as_slow_one_night_is_a_spike(traffic, watch):
    worse = (2 * 1440 + 120, 2 * 1440 + 150, 9, 1)
    found = spikes(traffic(1, 4 * 1440, 30, slow=[*NIGHTLY[:2], worse, NIGHTLY[3]]), watch)
    assert near(windows(found), [worse[:2]])


def test_a_number_set_by_the_user_decides(traffic):
    strict = watches(overrides={"confirmed_ratio": 3.5})["request_latency"]
    (spike,) = spikes(traffic(1, 240, 60, slow=[(100, 130, 3, 1)]), strict)
    assert (spike.status, spike.reason.split("; ")[-1]) == (
        "candidate",
        "but an incident stands at 3.5 times or more",
    )


@pytest.mark.slow
def test_a_million_requests_of_a_day_take_less_than_five_seconds(traffic, watch):
    requests = traffic(1, 1440, 700, slow=[(700, 730, 2, 1)])
    began = time.perf_counter()
    found = spikes(requests, watch)
    assert (near(windows(found), [(700, 730)]), time.perf_counter() - began < 5) == (True, True)

"""Which of the things that were done helped, and the course of events."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from tracemortem.explain.aftermath import mitigations, timeline, without_change
from tracemortem.incident import Evidence, Spike, TimelineEntry

START = datetime(2026, 4, 24, 2, 17, tzinfo=UTC)
END = datetime(2026, 4, 24, 2, 52, tzinfo=UTC)
RECORDED_TO = datetime(2026, 4, 24, 4, 0, tzinfo=UTC)
SETTINGS = {
    "recovered_ratio": 1.25, "after_minutes": 30.0, "recovered_requests": 1000.0, "traffic_left_ratio": 0.6,
    "effect_minutes": 20.0,
}  # fmt: skip
SPIKE = Spike(
    service="chat",
    status="confirmed",
    start=START,
    end=END,
    onset_earliest=START - timedelta(seconds=20),
    onset_latest=START + timedelta(seconds=10),
    metric="request_latency_p99",
    baseline_start=START - timedelta(minutes=60),
    baseline_end=START,
    baseline_from="the 60 quiet minutes before the spike",
    reason="p99 was 3.5 s",
)
STILL_ON = Spike(**{**vars(SPIKE), "end": None})
EVENTS = {
    "happened_at": pl.Datetime("us", "UTC"), "kind": pl.String, "text": pl.String, "p99_after_s": pl.Float64,
    "requests_after": pl.Int64, "minutes_after": pl.Float64, "minutes_to_end": pl.Float64,
    "requests_ratio": pl.Float64, "slower_after": pl.Int64, "slower_spread": pl.Float64,
}  # fmt: skip
NOBODY = pl.DataFrame(
    schema={
        "happened_at": pl.Datetime("us", "UTC"), "text": pl.String, "is_named": pl.Boolean,
        "is_after": pl.Boolean, "replicas": pl.Int64, "requests": pl.Int64, "slower": pl.Int64,
        "spread": pl.Float64, "p99_s": pl.Float64,
    }
)  # fmt: skip


def at(minute: int, second: int = 0) -> datetime:
    return datetime(2026, 4, 24, 2, minute, second, tzinfo=UTC)


def event(
    done_at: datetime,
    text: str = "rolled back",
    kind: str = "mitigation",
    end: datetime | None = END,
    **after: float | None,
) -> dict[str, Any]:
    """A row of evidence.recovery; latency is back to 1.2 s after the end if nothing else is said."""
    return {
        "happened_at": done_at, "kind": kind, "text": text, "p99_after_s": 1.2, "requests_after": 3000,
        "minutes_after": 30.0, "requests_ratio": 1.0, "slower_after": 9, "slower_spread": 1.0,
        "minutes_to_end": None if end is None else (end - done_at).total_seconds() / 60,
    } | after  # fmt: skip


def recovery(*events: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(events, schema=EVENTS)


def statuses(
    *events: dict[str, Any],
    spike: Spike = SPIKE,
    baseline_s: float | None = 1.2,
    peak_s: float | None = 3.5,
    recorded_to: datetime = RECORDED_TO,
) -> list[str]:
    found = mitigations(recovery(*events), NOBODY, spike, baseline_s, peak_s, recorded_to, SETTINGS)
    return [mitigation.status for mitigation in found]


def test_what_was_done_shortly_before_latency_came_back_and_stayed_is_verified():
    assert statuses(event(at(51))) == ["verified"]


def test_an_incident_without_events_has_no_mitigation():
    assert statuses() == []


def test_only_what_somebody_did_is_a_mitigation():
    kinds = ("deploy", "complaint", "mitigation", "rollback", "fix", "remediation", "config")
    assert len(statuses(*(event(at(51), kind=kind) for kind in kinds))) == 4


def test_what_was_noted_within_the_minute_of_the_end_may_have_brought_it_about():
    assert statuses(event(at(52, 40))) == ["verified"]


def test_what_was_noted_after_the_end_did_not_bring_it_about():
    assert statuses(event(at(54))) == ["not_verified"]


def test_of_several_the_last_before_the_end_is_verified():
    assert statuses(event(at(40)), event(at(47)), event(at(51)), event(at(58))) == [
        "not_verified",
        "not_verified",
        "verified",
        "not_verified",
    ]


def test_two_within_a_minute_cannot_be_told_apart():
    assert statuses(event(at(50, 10)), event(at(50, 50))) == ["verified", "verified"]


def test_an_end_long_after_had_another_reason():
    assert statuses(event(at(31))) == ["not_verified"]


def test_latency_that_stayed_high_verifies_nothing():
    assert statuses(event(at(51), p99_after_s=1.6)) == ["not_verified"]


@pytest.mark.parametrize(("slower", "status"), [(21, "verified"), (22, "not_testable")])
def test_latency_is_surely_back_when_a_hundredth_is_slower_at_most_with_95_percent_certainty(slower, status):
    assert statuses(event(at(51), slower_after=slower)) == [status]


@pytest.mark.parametrize(("slower", "status"), [(11, "verified"), (14, "not_testable")])
def test_slow_requests_that_come_together_tell_less(slower, status):
    assert statuses(event(at(51), slower_after=slower, slower_spread=4.0)) == [status]


def test_slow_requests_that_come_evenly_tell_no_more_than_independent_ones():
    assert statuses(event(at(51), slower_after=22, slower_spread=0.1)) == ["not_testable"]


def test_without_knowing_how_many_were_slower_nothing_is_verified():
    assert statuses(event(at(51), slower_after=None, slower_spread=None)) == ["not_testable"]


def test_latency_that_came_back_since_the_traffic_left_is_said_to_have():
    assert statuses(event(at(51), requests_ratio=0.4)) == ["traffic_left"]


def test_traffic_that_left_may_leave_few_requests():
    assert statuses(event(at(51), requests_ratio=0.1, requests_after=300)) == ["traffic_left"]


def test_too_few_requests_after_the_end_cannot_test_anything():
    assert statuses(event(at(51), requests_after=999)) == ["not_testable"]


def test_a_recording_that_ends_too_soon_cannot_test_anything():
    assert statuses(event(at(51), minutes_after=29.0)) == ["not_testable"]


def test_a_recording_without_requests_after_the_end_cannot_test_anything():
    nothing = {"p99_after_s": None, "requests_after": 0, "minutes_after": None, "requests_ratio": None}
    assert statuses(event(at(51), **nothing)) == ["not_testable"]


@pytest.mark.parametrize("unknown", [{"baseline_s": None}, {"peak_s": None}])
def test_without_the_usual_latency_nothing_can_be_tested(unknown):
    assert statuses(event(at(51)), **unknown) == ["not_testable"]


def test_a_window_in_which_nothing_rose_has_nothing_to_come_back_from():
    assert statuses(event(at(51)), peak_s=1.3) == ["not_testable"]


def test_while_the_incident_goes_on_what_was_done_long_ago_has_failed():
    assert statuses(event(at(20), end=None), spike=STILL_ON, recorded_to=at(50)) == ["not_verified"]


def test_while_the_incident_goes_on_what_was_just_done_cannot_be_judged():
    assert statuses(event(at(40), end=None), spike=STILL_ON, recorded_to=at(50)) == ["not_testable"]


def test_a_mitigation_states_its_figures():
    [mitigation] = mitigations(recovery(event(at(51))), NOBODY, SPIKE, 1.25, 3.5, RECORDED_TO, SETTINGS)
    sql = "sql/evidence/recovery.sql"
    assert mitigation.evidence == (
        Evidence(
            "recovery.p99_after_s",
            "P99 over the 30 minutes after the end: 1.2 s over 3,000 requests; usual 1.25 s",
            1.2,
            1.25,
            "s",
            sql,
        ),
        Evidence(
            "recovery.slower_ratio",
            "9 of them took longer than 1.25 times the usual P99: 0.51 % at most, with 95 % certainty, and "
            "1 % may",
            0.003,
            None,
            "ratio",
            sql,
        ),
        Evidence("recovery.minutes_to_end", "the incident ended 1 min after it", 1.0, None, "min", sql),
    )


def test_a_mitigation_after_the_end_says_so():
    [mitigation] = mitigations(recovery(event(at(58))), NOBODY, SPIKE, 1.25, 3.5, RECORDED_TO, SETTINGS)
    assert mitigation.evidence[-1].text == "the incident ended 6 min before it"


def test_a_mitigation_of_which_nothing_was_measured_has_no_evidence():
    row = event(at(40), end=None, p99_after_s=None)
    [mitigation] = mitigations(recovery(row), NOBODY, STILL_ON, 1.25, 3.5, RECORDED_TO, SETTINGS)
    assert mitigation.evidence == ()


def test_the_timeline_tells_what_was_measured_and_what_was_noted_in_order():
    earlier = recovery(event(at(10), "1.2 rolled out", "deploy"))
    found = timeline(SPIKE, at(30), 4.1, recovery(event(at(51))), earlier, is_given=False)
    assert found == (
        TimelineEntry(at(10), None, "events", "deploy: 1.2 rolled out"),
        TimelineEntry(at(16, 40), at(17, 10), "requests", "latency began to rise"),
        TimelineEntry(at(30), None, "requests", "worst minute, P99 4.1 s"),
        TimelineEntry(at(51), None, "events", "mitigation: rolled back"),
        TimelineEntry(at(52), None, "requests", "latency was back in its usual range"),
    )


def test_the_timeline_of_an_incident_that_goes_on_has_no_end():
    found = timeline(STILL_ON, None, None, recovery(), recovery(), is_given=False)
    assert [entry.text for entry in found] == ["latency began to rise"]


def test_of_a_window_that_was_given_the_edges_are_not_said_to_be_measured():
    spike = Spike(**{**vars(SPIKE), "onset_earliest": START, "onset_latest": START})
    found = timeline(spike, None, None, recovery(), recovery(), is_given=True)
    assert found == (
        TimelineEntry(START, None, "requests", "start of the window that was given"),
        TimelineEntry(END, None, "requests", "end of the window that was given"),
    )


@pytest.mark.parametrize(
    ("engines_s", "cache_too_s", "recorded_s", "so"),
    [
        (3.0, 3.1, 1.2, "the service itself that recovered"),
        (1.3, 1.3, 1.2, "too near to the usual"),
        (1.0, 3.0, 1.2, "what prompts find in the cache that changed"),
        (1.0, 1.1, 1.0, "the requests that changed: some left, or were kept out"),
        (1.0, 1.3, 1.0, "the requests that changed, or what they found in the cache"),
        (3.0, 3.1, 2.0, "not back to what is usual"),
    ],
)
def test_a_replay_of_what_came_afterwards_tells_what_changed(engines_s, cache_too_s, recorded_s, so):
    engines, cache_too = without_change(engines_s, cache_too_s, recorded_s, usual_s=1.25, error=0.1)
    assert (engines.value, cache_too.value) == (engines_s, cache_too_s)
    assert f"{recorded_s:g} s were recorded" in engines.text
    assert so in cache_too.text


@pytest.mark.parametrize(
    ("slower", "spread", "so"),
    [
        (
            (160, 160, 160, 4),
            1.0,
            "-39.0 points more (-47.4 to -30.6, with 95 % certainty): they fared better",
        ),
        ((160, 4, 160, 160), 1.0, "they fared worse than the others"),
        ((160, 144, 160, 144), 1.0, "no sure difference"),
        # slow requests that come together tell less
        ((160, 160, 160, 120), 1.0, "they fared better"),
        ((160, 160, 160, 120), 40.0, "no sure difference"),
        # and where none is slow, not everything is sure
        ((0, 0, 1, 0), None, "no sure difference"),
    ],
)
def test_what_was_done_to_some_replicas_is_held_against_the_others(slower, spread, so):
    groups = zip([False, False, True, True], [False, True, False, True], slower, strict=True)
    rows = [
        (at(51), "restarted one", is_named, is_after, 1, 400, many, spread, 3.0)
        for is_named, is_after, many in groups
    ]
    named = pl.DataFrame(rows, schema=NOBODY.schema, orient="row")
    done, other = event(at(51), "restarted one"), event(at(50), "restarted all")
    told = mitigations(recovery(done, other), named, SPIKE, 1.25, 3.5, RECORDED_TO, SETTINGS)
    facts = [[fact for fact in one.evidence if fact.id.startswith("named_replica")] for one in told]
    assert [len(some) for some in facts] == [1, 0]
    assert so in facts[0][0].text

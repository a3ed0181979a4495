"""What is said of spikes goes over what was found."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from tracemortem.detect.annotated import annotated
from tracemortem.incident import Annotation, Spike

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)


def minute(number: float) -> datetime:
    return BEGIN + timedelta(minutes=number)


SPIKE = Spike(
    service="chat", status="confirmed", start=minute(60), end=minute(80), onset_earliest=minute(60),
    onset_latest=minute(60), metric="request_latency_p99", baseline_start=minute(0), baseline_end=minute(60),
    baseline_from="", reason="p99 rose",
)  # fmt: skip
BY_ID = Annotation("20260302T0100Z-chat", "chat", minute(60), None, "dismissed", None, "Jo", "load test")
BY_WINDOW = Annotation("chat x", "chat", minute(70), minute(90), "confirmed", None, None, "felt")


@pytest.fixture(scope="module")
def requests() -> pl.DataFrame:
    """Two hours of a request every two seconds, of a second each; of three in the minutes 60 to 80."""
    at = [BEGIN + timedelta(seconds=2 * number) for number in range(3600)]
    return pl.DataFrame(
        {
            "service": ["chat"] * len(at),
            "started_at": at,
            "latency_s": [3.0 if minute(60) <= one < minute(80) else 1.0 for one in at],
        },
        schema_overrides={"started_at": pl.Datetime("us", "UTC")},
    )


def test_a_dismissed_spike_is_a_candidate_and_says_who_dismissed_it(requests, watch):
    [spike] = annotated([SPIKE], [BY_ID], requests, watch)
    assert (spike.status, spike.reason, spike.annotation) == (
        "candidate",
        "dismissed by Jo: load test; p99 rose",
        BY_ID.said,
    )


def test_a_candidate_that_somebody_confirms_is_confirmed(requests, watch):
    [spike] = annotated([replace(SPIKE, status="candidate")], [BY_WINDOW], requests, watch)
    assert (spike.status, spike.reason) == ("confirmed", "confirmed by hand: felt; p99 rose")


def test_an_id_speaks_of_the_incident_whose_start_has_moved_a_little(requests, watch):
    moved = replace(SPIKE, start=minute(68))
    assert annotated([moved], [BY_ID], requests, watch)[0].status == "candidate"
    assert annotated([replace(SPIKE, start=minute(71))], [BY_ID], requests, watch)[0].status == "confirmed"


def test_an_id_speaks_of_its_very_incident_where_there_is_one(requests, watch):
    before = replace(SPIKE, start=minute(50), end=minute(62))
    found = annotated([before, SPIKE], [BY_ID], requests, watch)
    assert [spike.status for spike in found] == ["confirmed", "candidate"]


def test_what_is_said_of_one_service_is_not_said_of_another(requests, watch):
    other = replace(SPIKE, service="search")
    assert annotated([other], [replace(BY_ID, verdict="dismissed")], requests, watch) == [other]


def test_a_cause_alone_leaves_the_status_and_the_reason(requests, watch):
    [spike] = annotated([SPIKE], [replace(BY_ID, verdict=None, cause="gpu_fault")], requests, watch)
    assert (spike.status, spike.reason, spike.annotation) == ("confirmed", "p99 rose", BY_ID.said)


def test_a_confirmed_window_that_nobody_found_is_a_spike(requests, watch):
    said = replace(BY_WINDOW, start=minute(60), end=minute(80))
    [spike] = annotated([], [said], requests, watch)
    assert (spike.status, spike.start, spike.end, spike.is_given, spike.has_risen) == (
        "confirmed",
        minute(60),
        minute(80),
        True,
        True,
    )


def test_a_confirmed_window_in_which_nothing_rose_is_confirmed_all_the_same(requests, watch):
    said = replace(BY_WINDOW, start=minute(100), end=minute(110))
    [spike] = annotated([], [said], requests, watch)
    assert (spike.status, spike.has_risen) == ("confirmed", False)


def test_a_dismissed_window_that_nobody_found_adds_nothing(requests, watch):
    assert annotated([], [replace(BY_WINDOW, verdict="dismissed")], requests, watch) == []


def test_a_window_of_another_day_adds_nothing(requests, watch):
    said = replace(BY_WINDOW, start=minute(3000), end=minute(3010))
    assert annotated([], [said], requests, watch) == []

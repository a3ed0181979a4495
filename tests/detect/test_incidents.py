"""Spikes of several watches and models made into incidents."""

from datetime import UTC, datetime, timedelta

import pytest

from tracemortem.detect.incidents import incidents
from tracemortem.incident import Spike

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)


def spike(first, last, metric="request_latency_p99", status="confirmed", model=None, service="chat"):
    start, end = (None if at is None else BEGIN + timedelta(minutes=at) for at in (first, last))
    return Spike(
        service=service, status=status, start=start, end=end, onset_earliest=start, onset_latest=start,
        metric=metric, baseline_start=BEGIN, baseline_end=start, baseline_from="", reason="slow", model=model,
    )  # fmt: skip


def told(found):
    return [
        ((one.start - BEGIN) / timedelta(minutes=1), one.metric, one.status, one.model, one.reason)
        for one in found
    ]


def test_what_several_watches_show_at_once_is_one_incident_of_the_first_that_names_the_others():
    found = incidents([[spike(100, 130)], [spike(98, 140, "ttft_p95")], [spike(99, 120, "queue_p99")]], 10)
    assert told(found) == [
        (100, "request_latency_p99", "confirmed", None, "slow; seen as well in ttft_p95, queue_p99")
    ]


def test_a_spike_of_the_first_token_alone_is_an_incident_of_its_own():
    found = incidents([[spike(100, 130)], [spike(300, 330, "ttft_p99")]], 10)
    assert told(found) == [
        (100, "request_latency_p99", "confirmed", None, "slow"),
        (300, "ttft_p99", "confirmed", None, "slow"),
    ]


def test_one_confirmed_stands_for_a_candidate_of_the_watch_before():
    found = incidents([[spike(100, 130, status="candidate")], [spike(100, 130, "ttft_p99")]], 10)
    assert told(found) == [(100, "ttft_p99", "confirmed", None, "slow; seen as well in request_latency_p99")]


def test_a_spike_that_spans_two_of_the_first_watch_does_not_make_them_one():
    found = incidents([[spike(100, 120), spike(150, 170)], [spike(95, 175, "queue_p99")]], 10)
    assert [one[:2] for one in told(found)] == [(100, "request_latency_p99"), (150, "request_latency_p99")]


def test_the_service_stands_for_its_model_and_a_model_alone_for_itself():
    found = incidents([[spike(100, 130, model="m"), spike(101, 129), spike(500, 520, model="m")]], 10)
    assert told(found) == [
        (
            101,
            "request_latency_p99",
            "confirmed",
            None,
            "slow; seen as well in request_latency_p99 of model m",
        ),
        (500, "request_latency_p99", "confirmed", "m", "slow"),
    ]


@pytest.mark.parametrize(("later", "count"), [(140, 1), (141, 2)])
def test_a_lull_as_long_as_said_does_not_make_two_incidents(later, count):
    assert len(incidents([[spike(100, 130)], [spike(later, 160, "ttft_p99")]], 10)) == count


def test_one_that_goes_on_takes_in_what_comes_later():
    assert len(incidents([[spike(100, None)], [spike(500, 520, "ttft_p99")]], 10)) == 1


def test_services_stay_apart():
    found = incidents([[spike(100, 130)], [spike(100, 130, "ttft_p99", service="rag")]], 10)
    assert [one.service for one in found] == ["chat", "rag"]

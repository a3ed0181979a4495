"""Where the quiet stretches lie that are judged like incidents."""

import tracemalloc
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl

from tracemortem.detect.quiet import Busy, quiet_stretches
from tracemortem.detect.watches import watches
from tracemortem.incident import Spike

WATCH = watches()["request_latency"]
ORIGIN = datetime(2026, 2, 3, 11, 0, tzinfo=UTC)


def at(minute: float) -> datetime:
    return ORIGIN + timedelta(minutes=minute)


def spike(first: int, last: int | None, service: str = "a") -> Spike:
    return Spike(
        service, "confirmed", at(first), None if last is None else at(last), at(first), at(first), "", at(0),
        at(first), "", "",
    )  # fmt: skip


def arrivals(minutes: int, per_minute: int = 30, service: str = "a") -> pl.DataFrame:
    times = [at(n / per_minute) for n in range(minutes * per_minute)]
    return pl.DataFrame({"service": service, "started_at": pl.Series(times).dt.cast_time_unit("us")})


def stretches(requests: pl.DataFrame, *spikes: Spike, most: int = 12) -> list[tuple[float, float, float]]:
    """Start of the baseline, start and end of each, in minutes."""
    busy: list[Busy] = [(one.service, one.start, one.end) for one in spikes]
    found = quiet_stretches(requests, spikes, busy, WATCH, {"placebo_stretches": most})
    assert {one.status for one in found} <= {"quiet"}
    minute = timedelta(minutes=1)
    return [
        ((one.baseline_start - ORIGIN) / minute, (one.start - ORIGIN) / minute, (one.end - ORIGIN) / minute)
        for one in found
        if one.end is not None
    ]


def test_they_are_as_long_as_the_incident_apart_from_it_and_each_has_a_baseline_before_it():
    assert stretches(arrivals(200), spike(100, 120)) == [
        (0, 10, 30),
        (0, 30, 50),
        (0, 50, 70),
        (10, 70, 90),
        (130, 140, 160),
        (130, 160, 180),
    ]


def test_the_shortest_of_several_incidents_gives_the_length():
    found = stretches(arrivals(200), spike(60, 100), spike(150, 170))
    assert [(start, end) for _, start, end in found] == [(10, 30), (30, 50), (120, 140)]


def test_a_baseline_holds_as_many_requests_as_one_of_an_incident():
    assert stretches(arrivals(60, per_minute=10), spike(45, 50))[0] == (0, 20, 25)


def test_of_more_than_are_wanted_those_spread_evenly_are_taken():
    found = stretches(arrivals(400), spike(0, 10), most=3)
    assert [start for _, start, _ in found] == [30, 210, 380]


def test_services_share_the_number():
    requests = pl.concat([arrivals(200), arrivals(200, service="b")])
    assert len(stretches(requests, spike(0, 10), spike(0, 10, "b"), most=4)) == 4


def test_after_an_incident_that_goes_on_nothing_is_quiet():
    assert [start for _, start, _ in stretches(arrivals(100), spike(80, None))] == [10, 30, 50]


def test_a_silence_is_not_quiet():
    before, after = arrivals(50), arrivals(200).filter(pl.col("started_at") >= at(120))
    found = stretches(pl.concat([before, after]), spike(180, 190))
    assert [start for _, start, _ in found] == [10, 20, 30, 40, 130, 140, 150, 160]


def test_without_a_confirmed_incident_there_is_none():
    assert stretches(arrivals(200), replace(spike(100, 120), status="candidate")) == []


def test_what_nobody_had_room_for_is_not_there():
    assert stretches(arrivals(80), spike(20, 60)) == []


def test_a_request_dated_decades_off_neither_makes_stretches_nor_decades_of_minutes():
    long_ago = pl.DataFrame({"service": "a", "started_at": pl.Series([at(0) - timedelta(days=20_000)])})
    stray = long_ago.with_columns(pl.col("started_at").dt.cast_time_unit("us"))
    requests = arrivals(200)
    tracemalloc.start()
    found = stretches(pl.concat([stray, requests]), spike(100, 120))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found, most < 10_000_000) == (stretches(requests, spike(100, 120)), True)


def test_a_service_of_whose_requests_no_time_is_known_has_none():
    assert stretches(arrivals(200, service="b"), spike(100, None)) == []

"""Numbers read with a unit, and no more exact than they are."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tracemortem.report.quantities import clock, instant, interval, local, quantity, span

NAMES = {"1/min": "per min"}


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1.2, "s", "1.2 s"),
        (3.7912, "s", "3.79 s"),
        (0.0231, "s", "23.1 ms"),
        (0.418, "s", "0.418 s"),
        (0.0, "s", "0 s"),
        (5631.4, "s", "5,631 s"),
        (0.384, "ratio", "38.4 %"),
        (0.0003, "ratio", "0.03 %"),
        (1.0, "ratio", "100 %"),
        (142.0, "1/min", "142 per min"),
        (287.3, "tokens/s", "287 tokens/s"),
        (11_604_312, "tokens", "11,604,312 tokens"),
        (1980.0, "MHz", "1,980 MHz"),
        (4410, "count", "4,410"),
        (1.5, "", "1.5"),
        (1.0, "-", "1"),
        (-0.25, "s", "-0.25 s"),
        (32_516_123, "bytes", "31 MiB"),
        (9.996, "x", "10 x"),
    ],
)
def test_a_quantity_has_three_digits_and_a_unit(value, unit, shown):
    assert quantity(value, unit, NAMES) == shown


def test_two_numbers_side_by_side_are_in_the_same_unit():
    assert quantity(0.09, "s", NAMES, beside=3.8) == "0.09 s"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.02, "20 ms"),
        (45, "45 s"),
        (60, "1 min"),
        (1740, "29 min"),
        (4320, "1 h 12 min"),
        (183_600, "2 d 3 h"),
    ],
)
def test_a_stretch_of_time_is_told_in_its_two_largest_parts(seconds, shown):
    assert span(seconds, {}) == shown


def test_an_instant_is_told_in_utc():
    there = datetime(2026, 3, 11, 10, 17, tzinfo=timezone(timedelta(hours=8)))
    assert instant(there) == "2026-03-11 02:17 UTC"


def test_seconds_are_told_only_where_there_are_any():
    assert clock(datetime(2026, 3, 11, 2, 17, 9, tzinfo=UTC)) == "02:17:09"


def test_an_interval_within_a_day_names_the_day_once():
    start = datetime(2026, 3, 11, 2, 17, tzinfo=UTC)
    assert interval(start, start + timedelta(minutes=29)) == "2026-03-11 02:17–02:46 UTC"


def test_an_interval_over_midnight_names_both_days():
    start = datetime(2026, 3, 11, 23, 50, tzinfo=UTC)
    assert interval(start, start + timedelta(minutes=29)) == "2026-03-11 23:50 – 2026-03-12 00:19 UTC"


def test_the_clock_on_the_spot_can_be_told_too():
    assert local(datetime(2026, 3, 11, 2, 17, tzinfo=UTC), "Asia/Shanghai") == "10:17 Asia/Shanghai"

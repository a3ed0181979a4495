"""A figure beside what it was before: where either is missing, and where there was nothing before."""

import math

import polars as pl
import pytest

from tracemortem.explain.signals import Signal, signals
from tracemortem.incident import Evidence

MEANINGS = {"hit_ratio": ("ratio 0-1", "hits over look-ups"), "restarts": ("count", "restarts")}
FRAME = pl.DataFrame(
    {
        "incident_id": ["one", "two"],
        "covered_ratio": [0.98, None],
        "hit_ratio": [0.62, 0.9],
        "hit_ratio_before": [0.91, 0.92],
        "restarts": [0, 3],
    }
)


def hits(value: float | None, before: float | None, unit: str = "ratio 0-1") -> Signal:
    return Signal("cache.hit_ratio", value, before, unit, "hits over look-ups", 1.0)


def test_each_column_is_a_signal_with_what_it_was_before():
    assert list(signals("cache", FRAME, MEANINGS, "one")) == [
        Signal("cache.hit_ratio", 0.62, 0.91, "ratio 0-1", "hits over look-ups", 0.98),
        Signal("cache.restarts", 0.0, None, "count", "restarts", 0.98),
    ]


def test_the_signals_of_one_incident_are_not_those_of_another():
    assert [(signal.value, signal.covered) for signal in signals("cache", FRAME, MEANINGS, "two")] == [
        (0.9, None),
        (3.0, None),
    ]


def test_an_incident_without_a_row_has_signals_that_are_not_known():
    found = list(signals("cache", FRAME, MEANINGS, "three"))
    assert [(signal.name, signal.value, signal.before, signal.covered) for signal in found] == [
        ("cache.hit_ratio", None, None, None),
        ("cache.restarts", None, None, None),
    ]


def test_what_is_no_finite_number_is_not_known():
    odd = FRAME.with_columns(hit_ratio=pl.Series([math.nan, math.inf]))
    first = [next(signals("cache", odd, MEANINGS, name)) for name in ("one", "two")]
    assert [signal.value for signal in first] == [None, None]


@pytest.mark.parametrize(
    ("value", "before", "ratio", "change"),
    [
        (3.0, 2.0, 1.5, 1.0), (0.0, 2.0, 0.0, -2.0), (80.0, 0.0, math.inf, 80.0), (0.0, 0.0, None, 0.0),
        (None, 2.0, None, None), (3.0, None, None, None),
    ],
)  # fmt: skip
def test_ratio_and_change_compare_a_figure_with_what_it_was(value, before, ratio, change):
    assert (hits(value, before).ratio, hits(value, before).change) == (ratio, change)


@pytest.mark.parametrize(("unit", "written"), [("ratio 0-1", "ratio"), ("ratio", "times"), ("s", "s")])
def test_only_a_share_is_written_as_a_ratio(unit, written):
    assert hits(0.62, 0.91, unit).evidence() == Evidence(
        "cache.hit_ratio", "hits over look-ups", 0.62, 0.91, written, "sql/evidence/cache.sql"
    )

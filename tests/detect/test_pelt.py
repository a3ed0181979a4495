"""Change points of made-up series, held against a search of all segmentations."""

import time

import numpy as np
import pytest

from tracemortem.detect.pelt import changes


def cost(values, ends, penalty):
    pieces = np.split(values, ends[:-1])
    return sum(float(((piece - piece.mean()) ** 2).sum()) for piece in pieces) + penalty * (len(ends) - 1)


def least(values, penalty):
    """The least cost of all segmentations, without pruning."""
    best = [-penalty]
    for end in range(1, values.size + 1):
        best.append(
            min(
                best[start] + ((values[start:end] - values[start:end].mean()) ** 2).sum() + penalty
                for start in range(end)
            )
        )
    return best[-1]


def test_a_step_and_its_end_are_found_to_the_value():
    values = np.array([0.0, 0.1] * 10 + [5.0, 5.1] * 5 + [0.0, 0.1] * 10)
    assert changes(values, 30, 1440) == [20, 30, 50]


def test_a_single_value_costs_less_than_the_two_changes_about_it():
    values = np.zeros(40)
    values[20] = 6.0
    assert changes(values, 30, 1440) == [40]


def test_a_level_series_is_one_segment():
    assert changes(np.zeros(100), 30, 1440) == [100]


def test_no_values_have_no_segments():
    assert changes(np.zeros(0), 30, 1440) == []


@pytest.mark.parametrize("seed", range(5))
def test_pruning_loses_no_segmentation(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=60) + np.repeat(rng.normal(0, 2, 6), 10)
    assert cost(values, changes(values, 4, 60), 4) == pytest.approx(least(values, 4.0))


def test_no_segment_is_longer_than_it_may_be():
    ends = changes(np.zeros(100), 30, 30)
    assert max(np.diff([0, *ends])) <= 30


@pytest.mark.slow
def test_a_month_of_quiet_minutes_takes_less_than_ten_seconds():
    values = np.random.default_rng(1).normal(size=43_200)
    began = time.perf_counter()
    changes(values, 30, 1440)
    assert time.perf_counter() - began < 10

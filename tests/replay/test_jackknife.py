"""The interval of an estimate that each fifth of the minutes is left out of once."""

import math

import numpy as np
import pytest

from tracemortem.replay.jackknife import GROUPS, group, half_width


def test_each_minute_is_in_one_of_the_groups_in_turn():
    at_s = np.array([0.0, 59.9, 60.0, 250.0, 300.0])
    assert group(at_s).tolist() == [0, 0, 1, 4, 0]


def test_the_half_width_is_of_student_s_distribution_with_four_degrees_of_freedom():
    assert half_width([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2.776 * math.sqrt(4 / 5 * 10))


def test_it_holds_the_mean_of_so_few_groups_in_95_of_100_draws():
    draws = np.random.default_rng(3).normal(0, 1, (4000, GROUPS))
    held = [
        abs(draw.mean()) <= half_width([np.delete(draw, one).mean() for one in range(GROUPS)])
        for draw in draws
    ]
    assert np.mean(held) == pytest.approx(0.95, abs=0.01)


def test_without_one_of_the_estimates_it_is_not_known():
    assert math.isnan(half_width([1.0, 2.0, math.nan, 4.0, 5.0]))

"""Student's t, false discoveries, and the memory of a series."""

import numpy as np
import pytest

from tracemortem.explain.chance import adjusted, critical, memory, poisson_tail, together, two_sided


@pytest.mark.parametrize(
    ("t", "df", "p"),
    # the tables: t of 5 % and 1 % two-sided; with one degree of freedom the Cauchy distribution
    [
        (12.706, 1, 0.05),
        (2.571, 5, 0.05),
        (4.032, 5, 0.01),
        (2.042, 30, 0.05),
        (1.960, 100_000, 0.05),
        (1.0, 1, 0.5),
    ],
)
def test_the_tail_of_students_distribution_is_that_of_the_tables(t: float, df: float, p: float):
    assert two_sided(t, df) == pytest.approx(p, rel=6e-3)
    assert two_sided(-t, df) == two_sided(t, df)
    assert critical(p, df) == pytest.approx(t, rel=2e-3)


def test_nothing_is_certain():
    assert two_sided(1e9, 50) == 1e-9


def test_false_discoveries_are_reckoned_over_all_that_was_looked_at():
    # the worked example: p times the number looked at over its rank, and never less than a larger p's
    assert adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert adjusted([0.01, *[1.0] * 9]) == pytest.approx([0.1, *[1.0] * 9])
    assert adjusted([]) == []


def test_a_series_that_resembles_itself_has_fewer_values_than_it_seems():
    rng = np.random.default_rng(3)
    fresh = rng.normal(size=2000)
    slow = np.zeros(2000)
    for at in range(1, 2000):
        slow[at] = 0.6 * slow[at - 1] + fresh[at]
    assert memory(fresh - fresh.mean()) == pytest.approx(1.0, abs=0.15)
    assert memory(slow - slow.mean()) == pytest.approx(4.0, abs=0.6)


def test_a_constant_series_has_no_memory():
    assert memory(np.zeros(50)) == 1.0


def test_families_are_adjusted_as_one_and_given_back_by_themselves():
    assert together([0.01, 0.5], [], [0.02]) == [[0.03, 0.5], [], [0.03]]


@pytest.mark.parametrize(
    # by the table of the distribution function: 1 - F(count - 1)
    ("count", "mean", "p"),
    [(6, 1.0, 5.9418e-4), (15, 10.0, 0.08346), (130, 100.0, 0.00228209), (10, 10.0, 1.0), (0, 0.0, 1.0)],
)
def test_the_tail_of_poissons_distribution_is_that_of_the_tables(count: int, mean: float, p: float):
    assert poisson_tail(count, mean) == pytest.approx(p, rel=1e-4)


def test_what_never_came_before_and_came_is_no_chance():
    assert (poisson_tail(1, 0.0), poisson_tail(100_000, 1.0)) == (1e-9, 1e-9)

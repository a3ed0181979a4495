"""Ratios and tests of two groups, held to worked examples."""

import numpy as np
import pytest

from tracemortem.explain.tables import chance, g_test, mantel_haenszel, risk_ratio


def one(value: float) -> np.ndarray:
    return np.array([value])


def test_the_risk_ratio_is_that_of_the_rates_and_its_interval_is_log_normal():
    ratio, low, high = (float(x[0]) for x in risk_ratio(one(100), one(1000), one(150), one(3000)))
    assert ratio == pytest.approx((100.5 / 1000.5) / (50.5 / 2000.5))
    spread = 1.959964 * np.sqrt(1 / 100.5 - 1 / 1000.5 + 1 / 50.5 - 1 / 2000.5)
    assert (low, high) == pytest.approx((ratio * np.exp(-spread), ratio * np.exp(spread)))


def test_a_group_that_is_everybody_has_no_risk_ratio():
    assert np.isnan(risk_ratio(one(5), one(50), one(5), one(50))[0][0])


def test_g_of_independent_counts_is_0_and_of_others_twice_the_log_likelihood_ratio():
    assert g_test(one(10), one(100), one(30), one(300))[0] == pytest.approx(0, abs=1e-9)
    cells = np.array([30.0, 70.0, 10.0, 90.0])
    expected = np.array([20.0, 80.0, 20.0, 80.0])
    assert g_test(one(30), one(100), one(40), one(200))[0] == pytest.approx(
        2 * (cells * np.log(cells / expected)).sum()
    )


def test_a_chi_squared_of_3_84_is_reached_once_in_twenty():
    assert chance(np.array([0.0, 3.841459])) == pytest.approx([1.0, 0.05], rel=1e-5)


def test_within_strata_a_reversed_ratio_is_put_right():
    """Two strata: 2 times as often in each, though the pooled rates are equal or lower."""
    a, n = np.array([[2.0, 40.0]]), np.array([[10.0, 400.0]])
    whole, total = a + np.array([[40.0, 2.0]]), n + np.array([[400.0, 40.0]])
    assert a.sum() / n.sum() < 1.1 * (whole - a).sum() / (total - n).sum()
    ratio, chi = mantel_haenszel(a, n, whole, total)
    assert ratio[0] == pytest.approx(2.0)
    assert chi[0] > 0


def test_groups_that_share_no_stratum_cannot_be_compared():
    a, n = np.array([[5.0, 0.0]]), np.array([[10.0, 0.0]])
    whole, total = np.array([[5.0, 3.0]]), np.array([[10.0, 30.0]])
    ratio, chi = mantel_haenszel(a, n, whole, total)
    assert np.isnan(ratio[0])
    assert chi[0] == 0

"""What is usual at a time of day, from made-up days."""

import numpy as np
import pytest

from tracemortem.detect.arrivals import by_service
from tracemortem.detect.season import season
from tracemortem.detect.watches import watches

DAY = 1440


def known(requests, quantile=0.9):
    (arrivals,) = by_service(requests, watches()["request_latency"])
    return season(arrivals, quantile, 10)


def nightly(days, factor=3.0):
    return [(day * DAY + 120, day * DAY + 240, factor, 1) for day in days]


def test_what_other_days_show_at_a_time_is_usual_there(traffic):
    usual = known(traffic(1, 3 * DAY, 30, slow=nightly(range(3))))
    assert np.exp(usual[[180, DAY + 180]] - usual[600]) == pytest.approx(3, rel=0.15)


def test_what_one_of_two_other_days_shows_is_not_usual(traffic):
    usual = known(traffic(1, 3 * DAY, 30, slow=nightly([1])))
    assert np.exp(usual[[180, DAY + 180, 2 * DAY + 180]] - usual[600]) == pytest.approx(1, rel=0.15)


def test_a_day_does_not_say_what_is_usual_on_it(traffic):
    usual = known(traffic(1, 4 * DAY, 30, slow=nightly([0, 2, 3])))
    assert np.exp(usual[DAY + 180] - usual[600]) == pytest.approx(3, rel=0.15)


@pytest.mark.parametrize("minutes", [60, DAY, 2 * DAY, 2 * DAY + 600])
def test_less_than_three_days_have_no_season(traffic, minutes):
    assert known(traffic(1, minutes, 30)) is None


def test_a_grain_that_does_not_divide_a_day_has_no_season(traffic):
    (arrivals,) = by_service(traffic(1, 3 * DAY, 30), watches()["request_latency"])
    assert season(arrivals, 0.9, 7) is None


def test_a_quantile_that_the_requests_are_too_few_for_has_no_season(traffic):
    requests = traffic(1, 3 * DAY, 1)
    assert (known(requests, 0.9) is None, known(requests, 0.99)) == (False, None)


def test_a_time_of_day_that_was_recorded_once_takes_the_value_beside_it(traffic):
    silent = [(day * DAY + 300, day * DAY + 420) for day in range(2)]
    usual = known(traffic(1, 3 * DAY, 30, silent=silent))
    assert np.exp(usual[360] - usual[600]) == pytest.approx(1, rel=0.15)

"""The verdict on windows that are given, in traffic whose one spike is known."""

import pytest

from tracemortem.detect.arrivals import by_service
from tracemortem.detect.edges import Edge
from tracemortem.detect.scan import Stretch
from tracemortem.detect.stretches import find
from tracemortem.detect.verdict import judge
from tracemortem.detect.windows import Window, together

NOWHERE = Edge(0, 0, 0, 9.0)


@pytest.fixture(scope="module")
def judged(traffic, watch):
    """A judge of windows in four hours of which the minutes 100 to 129 are slow."""
    (arrivals,) = by_service(traffic(1, 240, 60, slow=[(100, 130, 3, 1)]), watch)
    levels = find(arrivals, watch).levels

    def verdict(first, last, *quantiles, disputed=None):
        stretches = tuple(Stretch(first, last, 100.0 * quantile, quantile, 13.5) for quantile in quantiles)
        window = Window(first, last, NOWHERE, NOWHERE, False, stretches)
        return judge(watch, levels, window, disputed)

    return verdict


def test_a_window_that_is_slight_at_every_quantile_is_no_spike(judged):
    assert judged(20, 40, 0.9, 0.99) is None


def test_a_spike_is_named_after_the_highest_quantile_that_suffices(judged):
    verdict = judged(100, 130, 0.9, 0.95, 0.99)
    assert (verdict.status, verdict.quantile) == ("confirmed", 0.99)


def test_a_spike_that_the_highest_quantile_did_not_find_is_named_after_the_strongest(judged):
    verdict = judged(100, 130, 0.9, 0.95)
    assert (verdict.status, verdict.quantile) == ("confirmed", 0.95)


def test_a_spike_that_one_method_does_not_see_is_a_candidate_that_says_so(judged):
    verdict = judged(100, 130, 0.99, disputed="no quantile moved and stayed")
    assert (verdict.status, verdict.reason.split("; ")[-1]) == (
        "candidate",
        "but no quantile moved and stayed",
    )


def test_stretches_ten_minutes_apart_belong_together_and_eleven_do_not():
    first, near, far = (Stretch(at, at + 5, 20.0, 0.9, 4.85) for at in (0, 15, 31))
    assert together([first, near, far], 10) == [[first, near], [far]]


def test_stretches_that_overlap_one_before_the_last_belong_together():
    long, short, late = (
        Stretch(0, 60, 20.0, 0.9, 4.85),
        Stretch(5, 10, 20.0, 0.95, 4.85),
        Stretch(65, 70, 20.0, 0.9, 4.85),
    )
    assert together([long, short, late], 10) == [[long, short, late]]

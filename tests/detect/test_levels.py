"""Which requests say whether they were slow."""

import numpy as np

from tracemortem.detect.arrivals import by_service
from tracemortem.detect.levels import decided


def arrivals_of(traffic, watch, cut):
    requests = traffic(1, 60, 20)
    (arrivals,) = by_service(requests.with_columns(is_cut=cut), watch)
    return arrivals


def test_a_request_cut_short_before_it_was_slow_does_not_say_whether_it_was(traffic, watch):
    arrivals = arrivals_of(traffic, watch, True)
    excess = np.where(np.arange(arrivals.at_us.size) % 2 == 0, 0.1, -0.1)
    early = slice(0, 1000)
    assert decided(arrivals, excess)[early].tolist() == (excess[early] > 0).tolist()


def test_requests_that_arrived_shortly_before_the_end_do_not_say_whether_they_were_slow(traffic, watch):
    arrivals = arrivals_of(traffic, watch, False)
    usual_s = 30.0
    known = decided(arrivals, arrivals.log_s - np.log(usual_s))
    assert known.tolist() == (arrivals.at_us + 30_000_000 <= arrivals.ends_us).tolist()
    assert (known[0], known[-1]) == (True, False)

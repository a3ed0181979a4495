"""The onset and the recovery, between arrivals written out by hand."""

import numpy as np
import pytest

from tracemortem.detect.edges import onset, recovery

ODDS = (2.25, 4.85, 13.5, 50.0)
S = 1_000_000
EVERY_SECOND = np.arange(120) * S


def began(at_us, is_slow, from_us=0, noise=1.0):
    return onset(at_us, is_slow, from_us=from_us, usual=0.1, odds=ODDS, noise=noise)


def recovered(at_us, is_slow, to_us, noise=1.0):
    return recovery(at_us, is_slow, to_us=to_us, usual=0.1, odds=ODDS, noise=noise)


def test_the_onset_is_the_first_request_of_the_slow_side():
    assert began(EVERY_SECOND, EVERY_SECOND >= 60 * S).at_us == 60 * S


def test_the_interval_of_a_clean_onset_is_the_second_before_it_and_little_more():
    edge = began(EVERY_SECOND, EVERY_SECOND >= 60 * S)
    assert 57 * S < edge.earliest_us < 60 * S <= edge.latest_us < 62 * S


def test_the_interval_spans_a_gap_in_the_traffic():
    at_us = np.concatenate([np.arange(60), np.arange(360, 420)]) * S
    edge = began(at_us, at_us >= 360 * S)
    assert (edge.earliest_us < 75 * S, edge.latest_us > 345 * S) == (True, True)


def test_noise_widens_the_interval():
    is_slow = (EVERY_SECOND >= 60 * S) & (np.arange(120) % 3 > 0)
    sure, unsure = (began(EVERY_SECOND, is_slow, noise=noise) for noise in (1.0, 8.0))
    assert sure.latest_us - sure.earliest_us < unsure.latest_us - unsure.earliest_us


def test_an_onset_within_the_search_has_evidence():
    assert began(EVERY_SECOND, EVERY_SECOND >= 60 * S).evidence > 10


def test_requests_slow_from_the_first_on_have_no_evidence_of_an_onset():
    edge = began(EVERY_SECOND, np.ones(120, dtype=bool))
    assert (edge.at_us, edge.evidence) == (0, 0.0)


def test_the_time_searched_before_the_first_arrival_may_hold_the_onset():
    edge = began(EVERY_SECOND, np.ones(120, dtype=bool), from_us=-600 * S)
    assert (edge.earliest_us < -500 * S, edge.at_us) == (True, 0)


def test_the_recovery_is_the_onset_with_time_reversed():
    at_us, is_slow = EVERY_SECOND, EVERY_SECOND < 60 * S
    edge, mirrored = recovered(at_us, is_slow, 120 * S), began(-at_us[::-1], is_slow[::-1], -120 * S)
    assert (edge.earliest_us, edge.at_us, edge.latest_us, edge.evidence) == (
        -mirrored.latest_us,
        -mirrored.at_us,
        -mirrored.earliest_us,
        mirrored.evidence,
    )


def test_the_recovery_is_at_the_last_slow_request():
    assert recovered(EVERY_SECOND, EVERY_SECOND < 60 * S, 120 * S).at_us == 59 * S


@pytest.mark.parametrize("seed", range(5))
def test_nine_intervals_of_ten_or_more_hold_the_truth(seed):
    rng = np.random.default_rng(seed)
    held = []
    for _ in range(100):
        at_us = np.sort(rng.integers(0, 1200 * S, 400))
        edge = began(at_us, rng.random(400) < np.where(at_us < 600 * S, 0.1, 0.5))
        held.append(edge.earliest_us <= 600 * S <= edge.latest_us)
    assert sum(held) >= 90

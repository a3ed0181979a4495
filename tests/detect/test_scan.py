"""The binomial scan on counts written out by hand."""

import numpy as np
import pytest

from tracemortem.detect.scan import (
    Noise,
    Stretch,
    excursions,
    overdispersion,
    scan,
    share_at,
    silent,
    weight_of_evidence,
)

BINOMIAL = Noise((0.0,), (1.0,))
ODDS = (2.25, 4.85, 13.5, 50.0)


def found(slow, requests, noise=BINOMIAL, evidence=14, silence_minutes=60):
    return scan(
        np.array(slow),
        np.array(requests),
        quantile=0.9,
        odds=ODDS,
        noise=noise,
        evidence=evidence,
        silence_minutes=silence_minutes,
    )


def edges(slow, requests, **settings):
    return [(stretch.first, stretch.last) for stretch in found(slow, requests, **settings)]


@pytest.mark.parametrize(("odds", "share"), [(2.25, 0.2), (4.85, 0.350), (13.5, 0.6)])
def test_the_odds_stand_for_the_shares_they_were_chosen_for(odds, share):
    assert share_at(odds, 0.1) == pytest.approx(share, abs=0.001)


def test_a_minute_without_requests_is_no_evidence_either_way():
    weights = weight_of_evidence(np.array([0]), np.array([0]), 0.1, 4.85, 1.0)
    assert weights.tolist() == [0.0]


def test_the_evidence_of_a_minute_is_the_log_likelihood_ratio_of_its_requests():
    (weight,) = weight_of_evidence(np.array([3]), np.array([5]), 0.1, 13.5, 1.0)
    assert weight == pytest.approx(3 * np.log(0.6 / 0.1) + 2 * np.log(0.4 / 0.9))


def test_noise_divides_the_evidence():
    halved = weight_of_evidence(np.array([3]), np.array([5]), 0.1, 13.5, 2.0)
    whole = weight_of_evidence(np.array([3]), np.array([5]), 0.1, 13.5, 1.0)
    assert (2 * halved).tolist() == whole.tolist()


def test_ten_quiet_minutes_hold_no_stretch():
    assert found([1, 0, 2, 1, 1, 0, 3, 1, 1, 0], [10] * 10) == []


def test_a_stretch_is_the_minutes_that_are_slow():
    assert edges([1, 1, 6, 7, 6, 1, 1], [10] * 7) == [(2, 5)]


def test_of_the_odds_tried_the_likeliest_stands():
    (stretch,) = found([1, 1, 6, 6, 6, 1, 1], [10] * 7)
    evidence = 18 * np.log(0.6 / 0.1) + 12 * np.log(0.4 / 0.9)
    assert stretch == Stretch(2, 5, pytest.approx(evidence), 0.9, 13.5)


def test_a_gap_neither_ends_nor_lengthens_a_stretch():
    assert edges([1, 6, 7, 0, 0, 6, 6, 0, 1], [10, 10, 10, 0, 0, 10, 10, 0, 10]) == [(1, 7)]


def test_an_hour_without_requests_parts_two_stretches():
    slow, requests = [6, 6, 6, *[0] * 60, 6, 6, 6], [10] * 3 + [0] * 60 + [10] * 3
    assert edges(slow, requests) == [(0, 3), (63, 66)]


def test_quiet_minutes_enough_part_two_stretches():
    assert edges([6] * 5 + [0] * 10 + [6] * 5, [10] * 20) == [(0, 5), (15, 20)]


def test_a_terrible_minute_does_not_carry_a_stretch_across_an_hour_of_quiet():
    slow, requests = [100, *[0] * 60, 6, 6, 6], [100, *[3] * 60, 10, 10, 10]
    assert edges(slow, requests) == [(0, 1), (61, 64)]


def test_weights_that_sum_to_the_evidence_asked_for_are_enough():
    weights = np.array([7.0, 7.0, -1.0])
    assert list(excursions(weights, 14, np.zeros(3, dtype=bool))) == [(0, 2)]


def test_a_run_that_still_climbs_at_the_end_is_found():
    assert list(excursions(np.array([-1.0, 8.0, 8.0]), 14, np.zeros(3, dtype=bool))) == [(1, 3)]


def test_silence_begins_when_the_last_request_is_long_enough_ago():
    assert silent(np.array([1, 0, 0, 1, 0]), 2).tolist() == [False, False, True, False, False]


def test_a_long_stretch_is_held_against_the_noise_of_its_own_length():
    slow, requests = [25] * 60 + [10] * 60, [100] * 120
    loud = Noise((0.0, 5.0, 60.0), (1.0, 1.0, 50.0))
    assert (edges(slow, requests), edges(slow, requests, noise=loud)) == ([(0, 60)], [])


def test_binomial_counts_have_no_noise_beyond():
    rng = np.random.default_rng(1)
    noise = overdispersion(rng.binomial(100, 0.1, 30240), np.full(30240, 100), 0.1, is_first=False)
    assert [noise.at(minutes) < 1.3 for minutes in (5, 10, 20, 30, 60)] == [True] * 5


def test_the_factor_grows_with_the_length_when_requests_share_a_level():
    rng = np.random.default_rng(1)
    share = np.repeat(0.1 + 0.03 * rng.normal(size=48), 60)
    noise = overdispersion(rng.binomial(100, share), np.full(2880, 100), 0.1, is_first=False)
    assert (noise.at(60) > 3 * noise.at(10), noise.at(0)) == (True, 1.0)


def test_a_spike_of_half_a_short_recording_does_not_pass_for_noise_at_first():
    rng = np.random.default_rng(1)
    share = np.repeat([0.1, 0.5], 60)
    noise = overdispersion(rng.binomial(100, share), np.full(120, 100), 0.1, is_first=True)
    assert noise.at(60) < 5


def test_too_few_stretches_to_tell_noise_count_as_none():
    slow, requests = np.array([0, 30] * 20), np.full(40, 100)
    assert overdispersion(slow, requests, 0.1, is_first=False) == Noise((0.0,), (1.0,))

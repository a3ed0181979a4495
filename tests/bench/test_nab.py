"""NAB's rules on series written out by hand, and on the corpus where it is at hand."""

import json

import numpy as np
import pytest
from nab import CORPUS, PROFILES, SHARED, Series, best, corpus, figures, ranked, scored, worth
from nab_novelty import first_of_group, novelty, records, trailing_mean, usual
from nab_peers import PEERS

STANDARD = PROFILES["standard"]


def series(windows, size=100):
    # 15 samples of probation
    return Series("made up", np.arange(size) * 300, np.zeros(size), tuple(windows))


def score(one, *alarms):
    scores = np.zeros(one.values.size)
    scores[list(alarms)] = 1
    return best(ranked([one], [scores]), STANDARD)[0]


@pytest.fixture(scope="module")
def files():
    folder = SHARED / CORPUS
    if not folder.is_dir():
        pytest.skip(f"the Numenta Anomaly Benchmark is not in {folder}")
    return corpus(folder)


@pytest.fixture(scope="module")
def published():
    return json.loads((SHARED / CORPUS / "final_results.json").read_text(encoding="utf-8"))


def test_an_alarm_at_the_start_of_a_window_scores_full_marks():
    assert score(series([(50, 60)]), 50) == pytest.approx(100)


def test_an_alarm_late_in_a_window_scores_less():
    assert 50 < score(series([(50, 60)]), 60) < 100


def test_a_second_alarm_in_a_window_neither_adds_nor_takes():
    assert score(series([(50, 60)]), 50, 55) == score(series([(50, 60)]), 50)


def test_an_alarm_outside_costs_a_ninth_of_a_window():
    assert score(series([(50, 60)]), 50, 30) == pytest.approx(100 * (2 - 0.11) / 2)


def test_an_alarm_in_probation_is_not_counted():
    assert score(series([(50, 60)]), 50, 3) == pytest.approx(100)


def test_no_detector_scores_less_than_one_that_never_alarms():
    assert score(series([(50, 60)]), 20, 30) == 0


def test_an_alarm_is_worth_the_less_the_farther_it_is_behind():
    values = worth(np.array([-1.0, 0.0, 1.0, 4.0]))
    assert (values[0] > 0.98, values[1], values[2] < -0.98, values[3]) == (True, 0.0, True, -1.0)


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(PEERS))
def test_a_detector_written_anew_scores_as_published(files, published, name):
    table = scored(files, PEERS[name])
    found = {profile: best(table, rules)[0] for profile, rules in PROFILES.items()}
    assert found == pytest.approx(published[name], abs=0.05)


@pytest.fixture(scope="module")
def news(files):
    return figures(files)


def test_news_with_one_frozen_setting_scores_as_documented(news):
    found = {profile: round(row["frozen"], 1) for profile, row in news.items()}
    assert found == {"standard": 65.7, "reward_low_FP_rate": 56.6, "reward_low_FN_rate": 70.8}


def test_news_with_a_threshold_of_the_other_half_scores_as_documented(news):
    found = {profile: round(row["crossed"], 1) for profile, row in news.items()}
    assert found == {"standard": 65.0, "reward_low_FP_rate": 56.5, "reward_low_FN_rate": 70.4}


def test_a_record_counts_by_its_excess_over_the_range_before():
    assert records(np.array([0.0, 10.0, 5.0, 15.0, -5.0])).tolist() == pytest.approx([0, 1e13, 0, 0.5, 1 / 3])


def test_what_goes_on_is_one_piece_of_news():
    assert first_of_group(np.array([0.2, 0.1, 0.3, 0.0, 0.2]), 2).tolist() == [0.2, 0, 0.3, 0, 0]


def test_a_mean_at_the_start_is_of_what_there_is():
    assert trailing_mean(np.array([1.0, 3.0, 5.0]), 2).tolist() == [1.0, 2.0, 4.0]


def test_usual_is_what_earlier_days_show_at_that_time():
    at_s = np.arange(3 * 288) * 300
    day = np.arange(288.0)
    assert usual(at_s, np.tile(day, 3))[288:570].tolist() == day[:282].tolist()


def test_the_score_of_a_sample_does_not_depend_on_those_after_it():
    values = np.random.default_rng(1).normal(size=2000).cumsum()
    at_s = np.arange(2000) * 300
    assert novelty(at_s[:1500], values[:1500], 200).tolist() == novelty(at_s, values, 200)[:1500].tolist()

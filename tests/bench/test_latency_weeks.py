"""Detection on a few of the simulated weeks; on all of them the figures are those of ARCHITECTURE.md."""

import polars as pl
import pytest
from latency_weeks import FIRST_SEED, WEEKS, score, week


def test_a_week_follows_from_its_seed():
    assert week(7).requests.equals(week(7).requests)


def test_every_fourth_week_has_no_incident_and_the_others_have():
    assert [bool(week(seed).planted) for seed in range(4)] == [False, True, True, True]


def test_a_planted_step_slows_the_requests_of_its_minutes():
    simulated = next(
        one for seed in range(1, 9) if (one := week(seed)).planted[:1] and one.planted[0].share == 1
    )
    first = simulated.planted[0]
    minutes = (
        pl.col("started_at") - simulated.requests["started_at"].dt.truncate("1d").min()
    ).dt.total_minutes()
    inside = simulated.requests.filter(minutes.is_between(first.first, first.last - 1))["latency_s"].median()
    before = simulated.requests.filter(minutes.is_between(first.first - 60, first.first - 1))[
        "latency_s"
    ].median()
    assert inside / before > 1.3


def test_four_weeks_are_scored_well_and_without_a_false_alarm():
    total = score(range(FIRST_SEED, FIRST_SEED + 4))
    assert (total.f1 >= 0.85, total.false_alarms) == (True, 0)


@pytest.mark.soak
def test_all_weeks_meet_the_figures_asked_for():
    total = score(range(FIRST_SEED, FIRST_SEED + WEEKS))
    assert (total.f1 >= 0.85, total.false_alarms / total.weeks <= 0.25) == (True, True)

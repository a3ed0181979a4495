"""What moved, whether by chance, when, and what cannot be told."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from tracemortem import declared, folders
from tracemortem.errors import DefinitionError
from tracemortem.explain.chance import adjusted
from tracemortem.explain.movements import Course, compared, movements, read_courses
from tracemortem.findings import Movement
from tracemortem.incident import Spike

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
SETTINGS = {"same_ratio": 0.2, "false_discovery_rate": 0.05}


def minute(number: float) -> datetime:
    return BEGIN + timedelta(minutes=number)


SPIKE = Spike(
    service="chat", status="confirmed", start=minute(60), end=minute(90), metric="", reason="",
    onset_earliest=minute(60), onset_latest=minute(61), baseline_start=minute(0), baseline_end=minute(60),
    baseline_from="",
)  # fmt: skip


def series(
    signal: str, change: int | None = 60, by: float = 3.0, seed: int = 1, phi: float = 0.0,
    every_s: float | None = None, minutes: int = 90, level: float = 10.0,
) -> pl.DataFrame:  # fmt: skip
    """Noise of standard deviation 1 about a level that steps up at a minute."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=minutes)
    for at in range(1, minutes):
        noise[at] = phi * noise[at - 1] + np.sqrt(1 - phi * phi) * noise[at]
    value = level + noise + (by * (np.arange(minutes) >= change) if change is not None else 0)
    return pl.DataFrame(
        {
            "minute": [minute(number) for number in range(minutes)],
            "signal": [signal] * minutes,
            "value": value,
            "every_s": [every_s] * minutes,
        },
        schema_overrides={"minute": pl.Datetime("us", "UTC"), "every_s": pl.Float64},
    )


def judged(*frames: pl.DataFrame, spike: Spike = SPIKE, skew_s: float | None = None) -> dict[str, Movement]:
    frame = pl.concat(frames)
    courses = [Course(name, name, "count") for name in frame["signal"].unique(maintain_order=True)]
    found = compared(courses, frame, spike)
    q_values = adjusted([one.move.p for one in found])
    return {move.signal: move for move in movements(found, q_values, spike, skew_s, SETTINGS)}


def test_a_step_is_a_change_with_an_interval_for_its_size_and_its_onset():
    move = judged(series("latency_p99_s"))["latency_p99_s"]
    assert move.verdict == "changed"
    assert move.low < 3 < move.high < 4
    assert move.onset_earliest is not None
    assert move.onset_latest is not None
    assert minute(57) <= move.onset_earliest <= minute(60) <= move.onset_latest <= minute(63)


def test_what_is_the_same_within_a_fifth_is_shown_to_be_unchanged():
    move = judged(series("hits", None))["hits"]
    assert (move.verdict, move.onset_earliest, move.order) == ("unchanged", None, None)


def test_what_varies_too_much_to_tell_is_undecided_not_unchanged():
    assert judged(series("hits", None, level=0.5))["hits"].verdict == "undecided"


def test_what_is_nothing_before_and_nothing_in_it_is_unchanged():
    flat = series("preemptions").with_columns(value=pl.lit(0.0))
    move = judged(flat)["preemptions"]
    assert (move.verdict, move.p) == ("unchanged", 1.0)


def test_a_constant_that_becomes_another_is_a_change():
    flat = series("cap").with_columns(value=pl.when(pl.col("minute") < minute(60)).then(1.0).otherwise(2.0))
    assert judged(flat)["cap"].verdict == "changed"


def test_of_many_signals_that_only_wander_hardly_one_is_called_changed():
    found = [
        move.verdict
        for seed in range(20)
        for move in judged(*(series(f"s{n}", None, seed=100 * seed + n, phi=0.5) for n in range(10))).values()
    ]
    assert found.count("changed") <= 10  # of 200


def test_a_signal_without_five_minutes_on_either_side_is_not_judged():
    assert judged(series("hits", minutes=64)) == {}


def test_of_two_steps_far_apart_the_earlier_is_said_to_come_first():
    found = judged(series("latency_p99_s"), series("longs", 56, seed=2), series("page", 64, by=6.0, seed=3))
    assert (found["longs"].order, found["page"].order, found["latency_p99_s"].order) == (
        "before",
        "after",
        None,
    )


@pytest.mark.parametrize(
    ("every_s", "skew_s", "order"),
    [(None, None, "before"), (300, None, "not_resolvable"), (None, 500, "not_resolvable")],
)
def test_the_distance_between_samples_and_the_clocks_may_leave_the_order_open(every_s, skew_s, order):
    frames = (series("latency_p99_s", 68, by=8.0), series("longs", 60, by=8.0, seed=2, every_s=every_s))
    assert judged(*frames, skew_s=skew_s)["longs"].order == order


def test_an_onset_is_as_wide_as_the_distance_between_samples():
    move = judged(series("longs", by=30.0, every_s=300.0))["longs"]
    assert (move.onset_earliest, move.onset_latest) == (minute(55), minute(61))


def test_an_order_that_is_claimed_is_seldom_wrong():
    """Two steps in the same minute: which came first is claimed for one pair in twenty at most."""
    claims = 0
    for seed in range(200):
        frames = (series("latency_p99_s", 60, seed=seed, phi=0.6), series("x", 60, seed=1000 + seed, phi=0.6))
        claims += judged(*frames)["x"].order in {"before", "after"}
    assert claims <= 10


def test_an_onset_holds_the_true_minute_as_often_as_it_says():
    held = told = 0
    for seed in range(200):
        move = judged(series("latency_p99_s", 60, seed=seed, phi=0.6))["latency_p99_s"]
        if move.onset_earliest is not None and move.onset_latest is not None:
            told += 1
            held += move.onset_earliest <= minute(60) <= move.onset_latest
    assert told >= 100
    assert held >= 0.9 * told


def test_what_was_slow_when_the_recording_began_has_no_onset():
    spike = replace(
        SPIKE, start=minute(0), end=minute(60), onset_earliest=minute(0), baseline_start=minute(60),
        baseline_end=minute(90),
    )  # fmt: skip
    move = judged(series("latency_p99_s", 60, by=-5.0), spike=spike)["latency_p99_s"]
    assert (move.verdict, move.onset_earliest) == ("changed", None)


def test_every_signal_by_minute_has_a_title_and_a_unit():
    sql = (folders.folder("sql") / "mart" / "signal_minute.sql").read_text()
    names = set(re.findall(r"'(\w+)'", sql))
    assert {
        course.signal for course in read_courses(folders.definitions("explain", "movements.yaml"))
    } == names


def test_a_signal_without_a_unit_is_refused(tmp_path):
    (tmp_path / "movements.yaml").write_text("signals:\n  hits: {title: hits}\n")
    with pytest.raises(DefinitionError, match="the signal 'hits' is declared wrongly"):
        read_courses(tmp_path / "movements.yaml")


def test_the_thresholds_are_those_that_ship():
    shipped = declared.thresholds(folders.folder("sql").parent / "pipelines/tracemortem/thresholds.yaml")
    assert {name: shipped[name].value for name in SETTINGS} == SETTINGS

"""When alert rules would have fired, and how often for nothing."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from tracemortem import folders
from tracemortem.declared import thresholds
from tracemortem.errors import DefinitionError
from tracemortem.explain.alerts import Rule, alerts, prompt_bound, read_rules
from tracemortem.findings import Alert
from tracemortem.incident import Spike

BEGIN = datetime(2026, 4, 24, 0, 0, tzinfo=UTC)
START, END = BEGIN + timedelta(minutes=120), BEGIN + timedelta(minutes=150)
SPIKE = Spike(
    service="chat",
    status="confirmed",
    start=START,
    end=END,
    onset_earliest=START,
    onset_latest=START,
    metric="request_latency_p99",
    baseline_start=BEGIN + timedelta(minutes=60),
    baseline_end=START,
    baseline_from="the 60 quiet minutes before the spike",
    reason="p99 was 3.5 s",
)
LATENCY = Rule("latency_p99", "latency P99", "latency_p99_s", "s", "times_baseline", "times", 5, None, None)
SHARE = Rule(
    "share",
    "share of long prompts",
    "long_context_ratio",
    "ratio 0-1",
    "above",
    "share",
    2,
    60.0,
    'long{of="a"} > {level}',
)
SETTINGS = {"times": 2.0, "share": 0.15, "drop": 0.1}
LONG = 700.0


def course(signal: str, values: Sequence[float], every_s: float | None = None) -> pl.DataFrame:
    """One value a minute from BEGIN on."""
    return pl.DataFrame(
        {
            "minute": [BEGIN + timedelta(minutes=at) for at in range(len(values))],
            "signal": signal,
            "value": [float(value) for value in values],
            "every_s": pl.Series([every_s] * len(values), dtype=pl.Float64),
        },
        schema_overrides={"minute": pl.Datetime("us", "UTC")},
    )


def stepped(usual: float, raised: float, first: int, last: int, length: int = 240) -> list[float]:
    return [raised if first <= at < last else usual for at in range(length)]


P99 = course("latency_p99_s", stepped(1, 4, 120, 150))


def judged(rule: Rule, *frames: pl.DataFrame, spike: Spike = SPIKE) -> Alert:
    end = spike.end or BEGIN + timedelta(minutes=240)
    return alerts((LATENCY, rule), pl.concat(frames), spike, [(spike.start, end)], SETTINGS, LONG)[1]


def test_a_rule_fires_when_it_has_held_for_its_time():
    found = judged(SHARE, P99, course("long_context_ratio", stepped(0.05, 0.4, 118, 150)))
    assert (found.status, found.would_have_fired_at) == ("fired", BEGIN + timedelta(minutes=120))


def test_the_lead_is_over_the_latency_alarm():
    found = judged(SHARE, P99, course("long_context_ratio", stepped(0.05, 0.4, 118, 150)))
    assert found.lead_seconds == 5 * 60


def test_a_rule_that_fires_later_has_a_negative_lead():
    found = judged(SHARE, P99, course("long_context_ratio", stepped(0.05, 0.4, 130, 150)))
    assert found.lead_seconds == -7 * 60


def test_a_rule_that_held_too_short_is_silent():
    found = judged(SHARE, P99, course("long_context_ratio", stepped(0.05, 0.4, 130, 131)))
    assert (found.status, found.would_have_fired_at, found.lead_seconds) == ("silent", None, None)


def test_a_missing_minute_starts_the_time_anew():
    broken = course("long_context_ratio", stepped(0.05, 0.4, 130, 133)).filter(
        pl.col("minute") != BEGIN + timedelta(minutes=131)
    )
    assert judged(SHARE, P99, broken).status == "silent"


def test_firings_in_quiet_time_are_false_alarms_by_the_day():
    values = stepped(0.05, 0.4, 120, 150)
    values[30:33] = [0.4] * 3
    found = judged(SHARE, P99, course("long_context_ratio", values))
    assert found.false_alarms_per_day == pytest.approx(1440 / 210)


def test_what_was_over_before_latency_rose_is_a_false_alarm_and_not_a_warning():
    found = judged(SHARE, P99, course("long_context_ratio", stepped(0.05, 0.4, 112, 116)))
    assert (found.status, found.false_alarms_per_day) == ("silent", pytest.approx(1440 / 210))


def test_less_than_an_hour_of_quiet_time_gives_no_rate():
    frames = [frame.filter(pl.col("minute") >= BEGIN + timedelta(minutes=80)) for frame in (P99,)]
    share = course("long_context_ratio", stepped(0.05, 0.4, 120, 150)).filter(
        pl.col("minute").is_between(BEGIN + timedelta(minutes=80), END)
    )
    assert judged(SHARE, *frames, share).false_alarms_per_day is None


def test_data_coarser_than_the_rule_cannot_test_it():
    found = judged(SHARE, P99, course("long_context_ratio", stepped(0.05, 0.4, 118, 150), every_s=90.0))
    assert (found.status, found.text) == (
        "not_testable",
        "share of long prompts: the rule looks every 60 s, and the data has one value in 90 s",
    )


def test_a_signal_that_was_not_recorded_cannot_be_tested():
    found = judged(SHARE, P99)
    assert (found.status, found.text) == ("not_testable", "share of long prompts: not recorded")


@pytest.mark.parametrize(("value", "status"), [(0.79, "fired"), (0.81, "silent")])
def test_a_drop_is_measured_from_the_median_of_the_baseline(value: float, status: str):
    rule = replace(SHARE, when="below_baseline", level="drop")
    assert judged(rule, P99, course("long_context_ratio", stepped(0.9, value, 120, 150))).status == status


def test_an_incident_that_goes_on_is_watched_to_the_end_of_the_recording():
    share = course("long_context_ratio", stepped(0.05, 0.4, 200, 240))
    found = judged(SHARE, P99, share, spike=replace(SPIKE, end=None))
    assert found.would_have_fired_at == BEGIN + timedelta(minutes=202)


def test_every_rule_that_ships_has_a_threshold():
    rules = read_rules(folders.definitions("explain", "rules.yaml"))
    levels = thresholds(Path(folders.__file__).with_name("thresholds.yaml"))
    assert [rule.level for rule in rules if rule.level not in levels] == []


def test_the_words_of_a_rule_say_the_level_the_time_and_the_false_alarms():
    found = judged(SHARE, P99, course("long_context_ratio", stepped(0.05, 0.4, 118, 150)))
    assert found.text == "share of long prompts above 15 %, for 2 min; false alarms: 0 in 3.5 quiet hours"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("{rule: x, signal: y}", "'title' is missing"),
        (
            "{rule: x, title: t, signal: y, unit: s, when: often, level: l, hold_minutes: 1}",
            "`when` is 'often'",
        ),
        (
            "{rule: x, title: t, signal: y, unit: s, when: above, level: l, hold_minutes: 1, holds: 2}",
            "nobody reads 'holds'",
        ),
    ],
)
def test_a_rule_declared_wrongly_is_refused(tmp_path: Path, wrong: str, why: str):
    path = tmp_path / "rules.yaml"
    path.write_text(f"rules:\n  - {wrong}\n", encoding="utf-8")
    with pytest.raises(DefinitionError) as caught:
        read_rules(path)
    assert caught.value.why == why


def test_the_query_of_a_rule_has_the_level_in_its_place():
    alert = judged(SHARE, P99, course("long_context_ratio", stepped(0.05, 0.4, 110, 150)))
    assert (alert.promql, alert.hold_minutes) == ('long{of="a"} > 0.15', 2)
    assert judged(replace(SHARE, promql=None), P99).promql is None


def test_a_query_counts_long_prompts_from_the_nearest_bound_of_vllm_s_histogram():
    rule = replace(SHARE, promql='bucket{le="{prompt_bound}"} > {level}')
    assert judged(rule, P99).promql == 'bucket{le="500.0"} > 0.15'
    lengths = [0, 1, 610, 4096, 16_000, 30_000, 65_536, 1e12]
    assert [prompt_bound(one) for one in lengths] == [1, 1, 500, 5000, 20_000, 20_000, 50_000, 500_000_000]

"""What quiet stretches say of hypotheses, and what follows."""

import pytest

from tracemortem.explain.placebo import at_least, at_most, doubted, placebo
from tracemortem.findings import Placebo, Tried
from tracemortem.incident import Cause

LIMIT = {"placebo_false_alarms": 0.05}


@pytest.mark.parametrize(
    ("found", "of", "upper"),
    # as SciPy's quantiles of the beta distribution give them
    [(0, 1, 0.95), (0, 9, 0.283129), (1, 9, 0.429136), (3, 12, 0.527327), (12, 12, 1.0), (0, 0, 1.0)],
)
def test_the_upper_bound_is_that_of_clopper_and_pearson(found: int, of: int, upper: float):
    assert at_most(found, of) == pytest.approx(upper, abs=1e-6)


@pytest.mark.parametrize(
    ("found", "of", "lower"),
    [(0, 9, 0.0), (1, 9, 0.005683), (3, 12, 0.071870), (2, 2, 0.223607)],
)
def test_the_lower_bound_mirrors_it(found: int, of: int, lower: float):
    assert at_least(found, of) == pytest.approx(lower, abs=1e-6)


def test_stretches_are_counted_by_rule_and_whole():
    stretches = [
        {"gpu_throttle": "not_testable", "mix_shift": "possible", "traffic_surge": "likely"},
        {"gpu_throttle": "not_testable", "mix_shift": "ruled_out", "traffic_surge": "not_supported"},
        {"gpu_throttle": "not_testable", "mix_shift": "not_testable", "traffic_surge": "ruled_out"},
    ]
    found = placebo(stretches, 30)
    assert (found.status, found.stretches, found.minutes, found.alarmed) == ("tested", 3, 30, 1)
    assert found.upper == pytest.approx(0.864650, abs=1e-6)
    assert [(rule.kind, rule.tested, rule.supported) for rule in found.rules] == [
        ("gpu_throttle", 0, 0),
        ("mix_shift", 2, 1),
        ("traffic_surge", 3, 1),
    ]
    assert found.rules[0].upper is None


def test_few_stretches_are_said_to_show_little():
    quiet = {"mix_shift": "ruled_out"}
    assert placebo([quiet] * 12, 30).text == (
        "Of 12 quiet stretches of 30 minutes 0 would have been blamed on something; with 95 % certainty that "
        "happens in at most 22 % of them. So few stretches cannot show that it is rare."
    )
    assert placebo([quiet] * 60, 30).text.endswith("in at most 5 % of them.")


def test_without_room_for_a_stretch_it_is_not_testable_and_says_why():
    found = placebo([], None)
    assert (found.status, found.stretches, found.alarmed, found.upper) == ("not_testable", 0, None, None)
    assert "no stretch as long as the incident" in found.text


def cause(kind: str, verdict: str = "established", role: str = "primary", confidence: float = 0.9) -> Cause:
    return Cause(kind, role, verdict, "It is.", (), confidence=confidence)


def of(kind: str, tested: int, supported: int) -> Placebo:
    return Placebo("tested", tested, 30, supported, 0.5, (Tried(kind, tested, supported, 0.5),), "text")


def test_a_cause_that_quiet_stretches_are_blamed_on_too_is_no_more_than_possible():
    [found] = doubted([cause("mix_shift")], of("mix_shift", 12, 3), LIMIT)
    assert (found.verdict, found.confidence) == ("possible", 0.75)
    assert found.text == (
        "It is. But of 12 quiet stretches of this recording 3 would have been blamed on it too."
    )


@pytest.mark.parametrize(("tested", "supported"), [(12, 0), (12, 2), (1, 0), (0, 0)])
def test_a_cause_that_is_not_surely_blamed_too_often_stays_as_it_is(tested: int, supported: int):
    whole = (cause("mix_shift"),)
    assert doubted(whole, of("mix_shift", tested, supported), LIMIT) == whole


def test_a_doubted_cause_comes_after_a_stronger_one_and_before_those_that_contribute():
    causes = [cause("mix_shift"), cause("traffic_surge", "likely"), cause("gpu_fault", role="contributing")]
    found = doubted(causes, of("mix_shift", 12, 6), LIMIT)
    assert [one.kind for one in found] == ["traffic_surge", "mix_shift", "gpu_fault"]


def test_confidence_is_never_raised():
    [found] = doubted([cause("mix_shift", confidence=0.3)], of("mix_shift", 12, 3), LIMIT)
    assert found.confidence == 0.3

"""Order, roles and shares of causes by what goes without them."""

from tracemortem.explain.undoing import reweighed, with_shares
from tracemortem.findings import Reset
from tracemortem.incident import Cause

LIMITS = {"replay_main_share": 0.5, "replay_minor_share": 0.3}
SPEED = Cause("gpu_throttle", "primary", "established", "slow", (), confidence=0.9, reset="speed")
LONG = Cause("long_context_surge", "primary", "likely", "long", (), confidence=0.8, reset="long")
RETRIES = Cause("retry_storm", "primary", "likely", "again", (), confidence=0.7)
CACHE = Cause("cache_pollution", "contributing", "likely", "cold", (), reset="cache")


def resets(speed, long):
    return {
        "speed": Reset("speed", 1.0, speed, speed - 0.125, speed + 0.125),
        "long": Reset("long", 1.0, long, long - 0.125, long + 0.125),
        "cache": Reset("cache", 1.0, 0.9, 0.8, 1.0),
    }


def roles(causes):
    return [(cause.kind, cause.role) for cause in causes]


def test_what_more_goes_with_comes_first_and_contributing_causes_last():
    causes = reweighed([CACHE, RETRIES, SPEED, LONG], resets(0.45, 0.55), LIMITS, is_quantified=True)
    assert roles(causes) == [
        ("long_context_surge", "primary"),
        ("gpu_throttle", "primary"),
        ("retry_storm", "primary"),
        ("cache_pollution", "contributing"),
    ]


def test_beside_a_main_cause_one_with_which_little_goes_contributes():
    causes = reweighed([SPEED, LONG], resets(0.1, 0.9), LIMITS, is_quantified=True)
    assert [(cause.kind, cause.role, cause.confidence) for cause in causes] == [
        ("long_context_surge", "primary", 0.8),
        ("gpu_throttle", "contributing", None),
    ]


def test_both_stay_where_the_lesser_one_may_be_more_than_minor():
    causes = reweighed([SPEED, LONG], resets(0.25, 0.9), LIMITS, is_quantified=True)
    assert roles(causes) == [("long_context_surge", "primary"), ("gpu_throttle", "primary")]


def test_both_stay_where_none_is_surely_the_main_one():
    causes = reweighed([SPEED, LONG], resets(0.1, 0.55), LIMITS, is_quantified=True)
    assert roles(causes) == [("long_context_surge", "primary"), ("gpu_throttle", "primary")]


def test_a_rough_replay_orders_and_takes_no_role_away():
    causes = reweighed([SPEED, LONG], resets(0.1, 0.9), LIMITS, is_quantified=False)
    assert roles(causes) == [("long_context_surge", "primary"), ("gpu_throttle", "primary")]


def test_shares_and_their_intervals_stay_between_none_and_all():
    told = with_shares([SPEED, LONG, RETRIES, CACHE], resets(1.0, 0.25), {"speed": 1.0, "long": 0.0625})
    assert [(cause.share, cause.share_low, cause.share_high) for cause in told] == [
        (1.0, 0.875, 1.0),
        (0.0625, 0.0, 0.1875),
        (None, None, None),
        (None, None, None),
    ]

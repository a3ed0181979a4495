"""The score of a report beside a known truth."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from simulated.scoring import Claim, Score, reliability, score, table
from simulated.truth import Effect, effect

START = 1_767_225_600


def time(minute: float) -> str:
    return datetime.fromtimestamp(START + 60 * minute, UTC).isoformat()


def case(**changed: Any) -> Any:
    true = {
        "kind": "gpu_throttle", "seed": 1, "shop": SimpleNamespace(start=START),
        "start_s": 3000.0, "end_s": 4200.0, "effect": Effect((50, 70), 4.0, 1.0),
        "primary": ("gpu_throttle",), "accepted": ("gpu_throttle",),
        "plausible": frozenset({"straggler_replica"}), "culprits": (),
    }  # fmt: skip
    return SimpleNamespace(**(true | changed))


def report(*incidents: dict[str, Any]) -> dict[str, Any]:
    return {"window": {"to": time(100)}, "incidents": list(incidents)}


def incident(first: float, last: float | None, *primary: str, **changed: Any) -> dict[str, Any]:
    return {
        "status": "confirmed", "start": time(first), "end": None if last is None else time(last),
        "causes": [
            {"kind": kind, "role": "primary", "verdict": "likely", "confidence": 0.7} for kind in primary
        ],
        "not_causes": [], "sources": [],
    } | changed  # fmt: skip


def test_the_right_cause_at_the_right_time_scores_in_full():
    found = score(case(), report(incident(50, 70, "gpu_throttle")))
    assert (found.is_detected, found.is_top1, found.is_exact, found.iou, found.late_s) == (
        True,
        True,
        True,
        1.0,
        0,
    )
    assert (found.false, found.cleared, found.alarms) == ((), (), 0)


def test_a_plausible_companion_costs_nothing_and_a_wrong_one_does():
    found = score(case(), report(incident(50, 70, "gpu_throttle", "straggler_replica")))
    assert (found.is_exact, found.false) == (True, ())
    found = score(case(), report(incident(50, 70, "gpu_throttle", "retry_storm")))
    assert (found.is_top1, found.is_exact, found.false) == (True, False, ("retry_storm",))


def test_one_of_two_true_causes_is_not_exact():
    true = {"primary": ("gpu_throttle", "traffic_surge"), "accepted": ()}
    found = score(case(**true), report(incident(50, 70, "gpu_throttle")))
    assert (found.is_top1, found.is_exact) == (True, False)


def test_a_true_cause_ruled_out_is_counted():
    cleared = [{"kind": "gpu_throttle", "verdict": "ruled_out"}]
    found = score(case(), report(incident(50, 70, "unknown", not_causes=cleared)))
    assert (found.is_top1, found.cleared, found.false) == (False, ("gpu_throttle",), ())


def test_an_incident_elsewhere_is_a_false_alarm_and_the_true_one_is_missed():
    found = score(case(), report(incident(5, 15, "gpu_throttle")))
    assert (found.is_detected, found.is_top1, found.alarms) == (False, False, 1)


def test_a_candidate_of_a_quiet_recording_is_no_alarm():
    quiet = case(effect=Effect(None, 0, 0), primary=(), accepted=())
    assert score(quiet, report(incident(50, 70, "unknown", status="candidate"))).alarms == 0
    assert score(quiet, report(incident(50, 70, "unknown"))).alarms == 1


def test_ranges_are_matched_one_to_one_within_a_bit():
    named = [{"cidr": cidr, "role": "culprit"} for cidr in ("10.1.0.0/24", "10.2.0.0/23", "10.9.0.0/24")]
    true = case(culprits=("10.1.0.0/24", "10.2.0.0/24", "2a00:1::/48"))
    assert score(true, report(incident(50, 70, "gpu_throttle", sources=named))).cidr == (2, 3, 3)


def test_the_table_has_a_row_a_kind_and_one_of_all():
    lines = table([score(case(), report(incident(50, 70, "gpu_throttle")))]).splitlines()
    assert [line.split("|")[1].strip() for line in lines] == ["kind", "-" * 13 + ":", "gpu_throttle", "all"]
    assert [cell.strip() for cell in lines[2].split("|")[2:-1]] == [
        "1", "100", "100", "100", "0", "0", "0", "0", "1.00", "-", "-",
    ]  # fmt: skip


def test_confidence_is_held_against_how_often_it_was_right():
    found = score(case(), report(incident(50, 70, "gpu_throttle", "retry_storm")))
    assert found.claims == (Claim("likely", True, 0.7, True), Claim("likely", True, 0.7, False))
    sure = Score("quiet", 1, 0, claims=(Claim("established", False, 1.0, True),) * 2)
    assert reliability([found, sure]).splitlines()[2:] == [
        "| established | no | 2 | 2 | 1.00 |",
        "| likely | yes | 2 | 1 | 0.70 |",
        "",
        "Expected calibration error: 0.100",  # half of the claims, by 0.2
    ]


def of_minutes(*latency_s: float) -> Any:
    """A fleet with one answer a minute."""
    answers = [
        SimpleNamespace(ask=SimpleNamespace(at=60.0 * minute), status=200, ended_at=60.0 * minute + one)
        for minute, one in enumerate(latency_s)
    ]
    return SimpleNamespace(exchanges=answers)


def test_an_incident_lasts_until_its_queue_is_empty_however_long_after_the_trouble():
    shop: Any = SimpleNamespace(minutes=80)
    run = of_minutes(*[1.0] * 30, *[9.0] * 40, *[1.0] * 10)
    assert effect(shop, run, of_minutes(*[1.0] * 80), 1800.0) == Effect((30, 70), 9.0, 1.0)

"""The whole road on made-up traffic of one service: windows that are given, several incidents, and none."""

import json
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tracemortem import cli

pytestmark = pytest.mark.slow
BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
Report = Mapping[str, Any]


def minute(number: int) -> str:
    return f"{BEGIN + timedelta(minutes=number):%FT%TZ}"


def spans(minutes: int, slow: Sequence[tuple[int, int]] = ()) -> str:
    """Two requests a second of 0.8 s or so; within `slow` four in five take four times as long."""
    dice = random.Random(7)
    lines = []
    for number in range(minutes * 120):
        duration_s = 0.8 * dice.lognormvariate(0, 0.4)
        if any(first * 120 <= number < last * 120 for first, last in slow) and dice.random() < 0.8:
            duration_s *= 4
        start = int((BEGIN.timestamp() + number / 2) * 1e9)
        span = {
            "traceId": f"{number + 1:032x}", "spanId": f"{number + 1:016x}", "name": "POST", "kind": 2,
            "startTimeUnixNano": str(start), "endTimeUnixNano": str(start + int(duration_s * 1e9)),
            "attributes": [{"key": "http.response.status_code", "value": {"intValue": "200"}}],
        }  # fmt: skip
        service = {"attributes": [{"key": "service.name", "value": {"stringValue": "chat"}}]}
        whole = {"resourceSpans": [{"resource": service, "scopeSpans": [{"spans": [span]}]}]}
        lines.append(json.dumps(whole) + "\n")
    return "".join(lines)


def events(*noted: tuple[int, str, str]) -> str:
    return "".join(
        json.dumps({"time": minute(at), "kind": kind, "text": text}) + "\n" for at, kind, text in noted
    )


def report(folder: Path, *options: str) -> Report:
    given = ["postmortem", str(folder / "in"), "--out", str(folder / "out"), "--quiet", *options]
    assert cli.main(given) == cli.DONE
    return json.loads((folder / "out" / "report.json").read_text())


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path


def timeline(incident: Report) -> list[str]:
    return [entry["text"] for entry in incident["timeline"]]


def test_two_incidents_in_one_recording_keep_what_belongs_to_each(recorded: Path):
    (recorded / "in" / "spans.jsonl").write_text(spans(240, [(60, 75), (150, 165)]))
    (recorded / "in" / "events.jsonl").write_text(
        events(
            (58, "deploy", "1.2"),
            (66, "fix", "first try"),
            (74, "fix", "second try"),
            (164, "rollback", "of 1.3"),
        )
    )
    first, second = report(recorded)["incidents"]
    assert [(first["start"], first["end"]), (second["start"], second["end"])] == [
        (minute(60), minute(75)),
        (minute(150), minute(165)),
    ]
    assert [(entry["text"], entry["status"]) for entry in first["mitigation"]] == [
        ("first try", "not_verified"),
        ("second try", "verified"),
    ]
    assert [(entry["text"], entry["status"]) for entry in second["mitigation"]] == [("of 1.3", "verified")]
    assert [text for text in timeline(first) if ": " in text] == [
        "deploy: 1.2",
        "fix: first try",
        "fix: second try",
    ]
    assert [text for text in timeline(second) if ": " in text] == ["rollback: of 1.3"]


def test_an_incident_that_goes_on_has_no_end(recorded: Path):
    (recorded / "in" / "spans.jsonl").write_text(spans(100, [(60, 100)]))
    (recorded / "in" / "events.jsonl").write_text(events((65, "fix", "long ago"), (95, "fix", "just now")))
    [incident] = report(recorded)["incidents"]
    assert (incident["start"], incident["end"]) == (minute(60), None)
    assert [entry["status"] for entry in incident["mitigation"]] == ["not_verified", "not_testable"]
    assert "latency was back in its usual range" not in timeline(incident)


def test_quiet_stretches_of_a_recording_are_judged_like_its_incident_where_there_is_room(recorded: Path):
    (recorded / "in" / "spans.jsonl").write_text(spans(150, [(85, 105)]))
    [incident] = report(recorded)["incidents"]
    tried = {key: incident["placebo"][key] for key in ("status", "stretches", "minutes", "alarmed")}
    assert tried == {"status": "tested", "stretches": 4, "minutes": 20, "alarmed": 0}
    assert {rule["kind"] for rule in incident["placebo"]["rules"]} == {
        entry["kind"] for entry in incident["not_causes"]
    }
    [window] = report(recorded, "--window", f"{minute(10)}/{minute(20)}")["incidents"]
    assert (window["status"], window["placebo"]) == ("candidate", None)


def test_where_no_quiet_stretch_has_room_the_report_says_so(recorded: Path):
    (recorded / "in" / "spans.jsonl").write_text(spans(100, [(40, 80)]))
    [incident] = report(recorded)["incidents"]
    assert (incident["placebo"]["status"], incident["placebo"]["stretches"]) == ("not_testable", 0)


def test_a_service_of_which_only_latency_is_known_has_a_spike_that_nothing_explains(recorded: Path):
    (recorded / "in" / "spans.jsonl").write_text(spans(120, [(60, 80)]))
    [incident] = report(recorded)["incidents"]
    assert [(cause["kind"], cause["role"]) for cause in incident["causes"]] == [("unknown", "primary")]
    assert {entry["verdict"] for entry in incident["not_causes"]} <= {"not_testable", "not_supported"}
    assert (incident["sources"], incident["mitigation"]) == ([], [])


def test_a_window_in_which_nothing_rose_is_a_candidate_without_a_cause(recorded: Path):
    (recorded / "in" / "spans.jsonl").write_text(spans(120))
    [incident] = report(recorded, "--window", f"{minute(80)}/{minute(95)}")["incidents"]
    assert (incident["status"], incident["causes"], incident["sources"]) == ("candidate", [], [])
    assert timeline(incident)[0] == "start of the window that was given"
    assert timeline(incident)[-1] == "end of the window that was given"


def test_a_window_that_was_given_is_diagnosed_as_it_is(recorded: Path):
    (recorded / "in" / "spans.jsonl").write_text(spans(120, [(60, 80)]))
    [incident] = report(recorded, "--window", f"{minute(62)}/{minute(70)}")["incidents"]
    assert (incident["status"], incident["start"], incident["end"]) == ("confirmed", minute(62), minute(70))
    assert incident["baseline_from"] == "the 60 minutes before the window that was given"


def test_incidents_are_compared_with_the_time_that_is_set(recorded: Path):
    (recorded / "in" / "spans.jsonl").write_text(spans(120, [(60, 80)]))
    found = report(recorded, "--baseline", f"{minute(90)}/{minute(110)}")["incidents"]
    window = report(
        recorded, "--baseline", f"{minute(90)}/{minute(110)}", "--window", f"{minute(62)}/{minute(70)}"
    )["incidents"]
    assert {one["baseline_from"] for one in (*found, *window)} == {"the time set with --baseline"}
    assert window[0]["reason"].endswith("times what it was in the time beside")


def test_what_lies_outside_from_and_to_is_not_looked_at(recorded: Path):
    (recorded / "in" / "spans.jsonl").write_text(spans(180, [(20, 35), (120, 135)]))
    found = report(recorded, "--from", minute(60), "--to", minute(175))["incidents"]
    assert [incident["start"] for incident in found] == [minute(120)]


def test_what_somebody_says_of_an_incident_goes_over_what_was_found_also_in_later_runs(recorded: Path):
    (recorded / "in" / "spans.jsonl").write_text(spans(150, [(60, 80)]))
    said = recorded / "annotations.yaml"
    said.write_text(
        "annotations:\n"
        "  - {incident: 20260302T0100Z-chat, verdict: dismissed, by: Jo, note: load test}\n"
        "  - {service: chat, window: 2026-03-02T02:00Z/2026-03-02T02:10Z, verdict: confirmed, "
        "cause: retry_storm, note: clients called}\n"
    )
    db = ("--db", str(recorded / "x.duckdb"))
    first = report(recorded, *db, "--annotations", str(said))
    again = report(recorded, *db)
    found = [(entry["start"], entry["status"], entry["annotation"]) for entry in first["incidents"]]
    assert found == [
        (minute(60), "candidate", {"verdict": "dismissed", "cause": None, "by": "Jo", "note": "load test"}),
        (
            minute(120),
            "confirmed",
            {"verdict": "confirmed", "cause": "retry_storm", "by": None, "note": "clients called"},
        ),
    ]
    assert [(c["kind"], c["role"]) for c in first["incidents"][1]["causes"]] == [("retry_storm", "primary")]
    assert again["incidents"] == first["incidents"]
    text = (recorded / "out" / "report.md").read_text()
    assert "Dismissed by Jo: load test" in text
    assert "| Said | confirmed, by hand: clients called |" in text

"""What whoever ran the command reads."""

from dataclasses import replace
from datetime import UTC, datetime

from tracemortem.incident import (
    Cause,
    Diagnosis,
    Impact,
    Incident,
    InputFile,
    Mitigation,
    QualityCheck,
    Source,
)
from tracemortem.steps.tell import lines

START = datetime(2026, 4, 24, 2, 17, tzinfo=UTC)
END = datetime(2026, 4, 24, 2, 52, tzinfo=UTC)
INCIDENT = Incident(
    id="20260424T0217Z-chat",
    service="chat",
    status="confirmed",
    start=START,
    end=END,
    onset_earliest=START,
    onset_latest=START,
    metric="request_latency_p99",
    baseline=1.22,
    peak=3.48,
    peak_minute=None,
    baseline_from="",
    reason="p99 was 1.4 times what is usual; but noise alone comes that far now and then",
    impact=Impact(7508, 1327, 300, 900.0, 0),
    causes=(
        Cause("long_context_surge", "primary", "established", "", ()),
        Cause("cache_pollution", "contributing", "likely", "", ()),
    ),
    sources=(
        Source("203.0.113.0/24", "culprit", 900, None, 0.5, 0.1, ""),
        Source("192.0.2.0/24", "victim", 900, None, None, None, ""),
    ),
    mitigation=(Mitigation(END, "limit on long prompts", "verified", ()),),
)
SPANS = InputFile("spans.jsonl", "0" * 64, 10, "otlp", "otlp_json_lines", 1200, 3, None, None)
README = InputFile("README", "0" * 64, 10, "skipped", "text of no known format", 0, 0, None, None)
QUIET = Diagnosis(window_from=None, window_to=None, timezone="UTC", inputs=(SPANS,), quality=())


def told(*incidents: Incident, timezone: str = "UTC") -> list[str]:
    return list(lines(replace(QUIET, incidents=incidents, timezone=timezone), requests=1200))


def test_an_incident_is_told_in_four_lines():
    assert told(INCIDENT)[:-1] == [
        "chat, 2026-04-24 02:17 to 02:52: P99 went from 1.22 s to 3.48 s; 1,327 of 7,508 requests slowed.",
        "Cause: long_context_surge (established); contributing: cache_pollution.",
        "From: 203.0.113.0/24.",
        "Mitigation: 02:52 limit on long prompts (verified).",
    ]


def test_without_culprits_and_mitigation_two_lines_are_enough():
    assert len(told(replace(INCIDENT, sources=(), mitigation=()))) == 3


def test_times_are_those_of_the_zone_asked_for():
    first = told(INCIDENT, timezone="America/New_York")[0]
    assert first.startswith("chat, 2026-04-23 22:17 to 22:52: ")


def test_an_incident_over_midnight_says_both_days():
    late = replace(INCIDENT, end=datetime(2026, 4, 25, 0, 10, tzinfo=UTC))
    assert told(late)[0].startswith("chat, 2026-04-24 02:17 to 2026-04-25 00:10: ")


def test_an_incident_that_goes_on_says_so():
    assert told(replace(INCIDENT, end=None))[0].startswith("chat, 2026-04-24 02:17, still going on: ")


def test_what_is_not_known_is_not_told_as_nought():
    dark = replace(INCIDENT, baseline=None, impact=replace(INCIDENT.impact, requests_slowed=None))
    told_of = "P99 went from not known to 3.48 s; not known how many of 7,508 requests slowed."
    assert told(dark)[0].endswith(told_of)


def test_where_nothing_is_confirmed_the_nearest_say_why_they_fell_short():
    assert told(replace(INCIDENT, status="candidate"))[:-1] == [
        "No incident is confirmed; what came nearest:",
        "chat, 2026-04-24 02:17 to 02:52: "
        "p99 was 1.4 times what is usual; but noise alone comes that far now and then.",
    ]


def test_three_candidates_are_enough():
    assert len(told(*[replace(INCIDENT, status="candidate")] * 9)) == 5


def test_candidates_beside_an_incident_are_left_to_the_report():
    assert told(INCIDENT, replace(INCIDENT, status="candidate")) == told(INCIDENT)


def test_a_quiet_recording_is_told_in_two_lines():
    assert told() == ["No incident is confirmed.", "Data: 1,200 rows from 1 file, 3 rejected."]


def test_a_recording_without_requests_is_not_said_to_be_quiet():
    assert next(lines(QUIET, requests=0)) == (
        "No request of known latency was found to look at; spans say it, and access logs whose format "
        "says how long a request took."
    )


def test_skipped_files_are_not_those_that_were_read():
    found = list(lines(replace(QUIET, inputs=(SPANS, SPANS, README)), requests=1200))
    assert found[-1] == "Data: 2,400 rows from 2 files (1 more skipped), 6 rejected."


def test_checks_that_found_something_are_named():
    checks = (QualityCheck("scrape_gaps", "warn", "", ""), QualityCheck("requests_lost", "ok", "", ""))
    found = list(lines(replace(QUIET, quality=checks), requests=1200))
    assert found[-1] == "Data: 1,200 rows from 1 file, 3 rejected; checks to look at: scrape_gaps."

"""A cause that is stated goes first, and what was measured stays in sight."""

from dataclasses import replace
from datetime import UTC, datetime

from tracemortem.explain.relabel import relabelled
from tracemortem.incident import Annotation, Cause, Evidence, NotCause

SAID = Annotation(
    "20260302T0100Z-chat",
    "chat",
    datetime(2026, 3, 2, 1, tzinfo=UTC),
    None,
    None,
    "gpu_fault",
    "Jo",
    "saw it",
)
SURGE = Cause("traffic_surge", "primary", "likely", "More came.", (), confidence=0.8)
XID = Evidence("gpu_fault.xid_changes", "new XID codes", 0.0, None, "count", "sql/evidence/gpu_fault.sql")
CLEARED = NotCause("gpu_fault", "ruled_out", "No new code.", (XID,))


def test_a_stated_cause_is_the_only_primary_one_and_what_was_measured_contributes():
    causes, _ = relabelled([SURGE], [], SAID)
    assert [(cause.kind, cause.role, cause.verdict, cause.confidence) for cause in causes] == [
        ("gpu_fault", "primary", "established", None),
        ("traffic_surge", "contributing", "likely", 0.8),
    ]


def test_what_speaks_against_a_stated_cause_is_told_with_it():
    causes, ledger = relabelled([], [CLEARED, replace(CLEARED, kind="replica_loss")], SAID)
    assert causes[0].text == "Stated by Jo: saw it. By the measurements alone it is ruled out. No new code."
    assert causes[0].evidence == (XID,)
    assert [entry.kind for entry in ledger] == ["replica_loss"]


def test_a_stated_cause_that_was_found_as_well_keeps_its_evidence():
    found = Cause("gpu_fault", "contributing", "likely", "A new code.", (XID,))
    causes, _ = relabelled([SURGE, found], [], SAID)
    assert [(cause.kind, cause.role) for cause in causes] == [
        ("gpu_fault", "primary"),
        ("traffic_surge", "contributing"),
    ]
    assert causes[0].text == "Stated by Jo: saw it. By the measurements alone it is likely. A new code."
    assert causes[0].evidence == (XID,)


def test_a_spike_whose_cause_is_stated_is_no_longer_unexplained():
    causes, _ = relabelled([Cause("unknown", "primary", "possible", "?", ())], [], SAID)
    assert [cause.kind for cause in causes] == ["gpu_fault"]


def test_without_a_stated_cause_all_stays_as_it_was():
    assert relabelled([SURGE], [CLEARED], replace(SAID, cause=None)) == ((SURGE,), (CLEARED,))

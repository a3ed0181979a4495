"""How the quiet stretches are judged, and what is left in the store when that fails."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tracemortem import folders
from tracemortem.explain.signals import Signal
from tracemortem.incident import Spike
from tracemortem.settings import Settings
from tracemortem.steps import opened, placebo
from tracemortem.steps.detect import SCHEMA
from tracemortem.steps.explain import SIGNAL_TABLES, meanings, suspicions
from tracemortem.steps.gathered import Gathered, gathered
from tracemortem.warehouse.build import build

AT = datetime(2026, 3, 2, tzinfo=UTC)


def row(name: str, status: str) -> tuple[object, ...]:
    later = AT + timedelta(minutes=20)
    return (
        name, "chat", status, "", AT, later, AT, AT, AT - timedelta(minutes=20), AT, "", later, "", False,
        False, None,
    )  # fmt: skip


def test_the_incidents_are_back_in_place_though_measuring_the_quiet_stretches_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: list[list[tuple[object, ...]]] = []

    def fails(store: opened.Store, *_: object) -> None:
        seen.append(store.frame("select incident_id from raw.incident").rows())
        raise RuntimeError("the disk gave out")

    monkeypatch.setattr(placebo, "build", fails)
    settings = Settings(inputs=(), db=str(tmp_path / "x.duckdb"))
    values = opened.values(settings)
    notes = {table: meanings(table, values) for table in SIGNAL_TABLES}
    with opened.store(settings) as store:
        store.replace("raw.incident", [pl.DataFrame([row("a", "confirmed")], schema=SCHEMA, orient="row")])
        store.replace("raw.quiet", [pl.DataFrame([row("b", "quiet")], schema=SCHEMA, orient="row")])
        with pytest.raises(RuntimeError, match="the disk gave out"):
            placebo.tried(store, values, suspicions(notes, values), notes)
        left = store.frame("select incident_id, status from raw.incident").rows()
    assert (seen, left) == ([[("b",)]], [("a", "confirmed")])


def surge(minutes_chance: float, replicas_chance: float) -> dict[str, Signal]:
    """A stretch with many long prompts, which nothing but tests corroborates."""
    return {
        name: Signal(name, value, before, unit, "", 1.0)
        for name, value, before, unit in (
            ("long_context.long_requests_per_minute", 75.0, 8.0, "1/min"),
            ("long_context.long_context_ratio", 0.38, 0.05, "ratio 0-1"),
            ("dose.minutes_chance", minutes_chance, None, "p"),
            ("dose.replicas_chance", replicas_chance, None, "p"),
        )
    }


@pytest.mark.parametrize(
    ("chances", "verdict", "is_adjusted"),
    [
        ((0.04, 0.9), "possible", True),  # of two tests 0.04 is 0.08
        ((0.04, 0.045), "likely", True),
        ((0.06, 0.9), "possible", False),  # nothing to take away, so that the costly part is left out
    ],
)
def test_a_find_in_a_quiet_stretch_is_adjusted_over_all_that_is_tested_of_an_incident(
    chances: tuple[float, float],
    verdict: str,
    is_adjusted: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    looked: list[tuple[str, bool]] = []

    def watched(store: opened.Store, name: str, spike: Spike, *rest: Any) -> Gathered:
        assert store.frame("select incident_id from raw.incident").rows() == [(name,)]
        # by which it is decided whether kinds of requests and address ranges are tested too
        looked.append((name, spike.has_risen))
        return gathered(store, name, spike, *rest)

    monkeypatch.setattr(placebo, "gathered", watched)
    monkeypatch.setattr(
        placebo, "measured", lambda *given: surge(*chances) if given[-1] == "b" else surge(0.9, 0.9)
    )
    settings = Settings(inputs=(), db=str(tmp_path / "x.duckdb"))
    values = opened.values(settings)
    notes = {table: meanings(table, values) for table in SIGNAL_TABLES}
    with opened.store(settings) as store:
        build(store, folders.folder("sql"), values)
        quiet = [row("b", "quiet"), row("c", "quiet")]
        store.replace("raw.quiet", [pl.DataFrame(quiet, schema=SCHEMA, orient="row")])
        placebo.tried(store, values, suspicions(notes, values), notes)
        told = store.frame(
            "select verdict from meta.placebo where kind = 'long_context_surge' order by verdict"
        )
    assert looked == ([("b", True)] if is_adjusted else [])
    assert told["verdict"].to_list() == sorted([verdict, "possible"])

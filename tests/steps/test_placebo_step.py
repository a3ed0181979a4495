"""What is left in the store when judging the quiet stretches fails."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from tracemortem.settings import Settings
from tracemortem.steps import opened, placebo
from tracemortem.steps.detect import SCHEMA
from tracemortem.steps.explain import SIGNAL_TABLES, meanings, suspicions

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

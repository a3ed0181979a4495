"""Thirty days with four incidents, weekends, a deploy, a silent host, another format: what reports say."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from days.made import FIRST, Plan, Trouble, write_day
from tracemortem import pipeline
from tracemortem.settings import Settings

PLAN = Plan(
    requests=20_000,
    troubles=(
        Trouble("long", 9, 617, 48),
        Trouble("surge", 15, 870, 40),
        Trouble("slow", 19, 600, 45),
        Trouble("slow", 26, 1420, 50),
    ),
    silent={17: 2},
    kong_until=22,
    deploys=(12,),
)


@pytest.mark.soak
def test_a_month_of_days_is_told_without_false_alarms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    reports: list[dict[str, Any]] = []
    for day in range(30):
        write_day(PLAN, day, tmp_path / "in")
        now = datetime(FIRST.year, FIRST.month, FIRST.day, 2, tzinfo=UTC) + timedelta(days=day + 1)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(round(now.timestamp())))
        pipeline.daily(
            Settings((str(tmp_path / "in"),), db=str(tmp_path / "w.duckdb"), out=str(tmp_path / "out"))
        )
        name = (FIRST + timedelta(days=day)).isoformat()
        reports.append(json.loads((tmp_path / "out" / name / "daily.json").read_bytes()))
    confirmed = [
        day
        for day, report in enumerate(reports)
        for one in report["incidents"]
        if one["status"] == "confirmed"
    ]
    assert confirmed == [9, 15, 19, 26, 27]  # that of the 26th goes on over midnight
    changes = {
        day: [(one["kind"], one["name"], one["change"]) for one in report["unusual"]["reporters"]]
        for day, report in enumerate(reports)
        if report["unusual"]["reporters"]
    }
    assert changes == {
        17: [("engine", "chat-2", "silent"), ("replica", "chat-2", "silent")],
        22: [("format", "kong_json", "silent"), ("format", "nginx_json", "new")],
    }
    told = {9, 15, 17, 19, 26, 27}
    alarms = [
        (day, one["figure"])
        for day, report in enumerate(reports)
        if day not in told
        for one in report["unusual"]["figures"]
    ]
    assert len({day for day, _ in alarms}) <= 1, alarms
    judged = sum(one["is_unusual"] is not None for report in reports for one in report["figures"])
    assert judged > 300

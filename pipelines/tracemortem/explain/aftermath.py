"""What was done about it, whether it helped, and the course of events."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import polars as pl

from tracemortem.explain.signals import figure
from tracemortem.incident import Evidence, Mitigation, Spike, TimelineEntry

_SQL = "sql/evidence/recovery.sql"
_DONE = ("mitigation", "rollback", "fix", "remediation")


def mitigations(
    recovery: pl.DataFrame, spike: Spike, baseline_s: float | None, settings: Mapping[str, float]
) -> tuple[Mitigation, ...]:
    """What people did, each with a verdict on whether latency came back.

    recovery   evidence.recovery of one incident, one row an event
    baseline_s the incident's baseline, P99 in seconds
    settings   recovered_ratio, after_minutes, recovered_requests, traffic_left_ratio (thresholds.yaml)
    """
    return tuple(
        Mitigation(
            at=row["happened_at"],
            text=row["text"],
            status=_status(row, spike, baseline_s, settings),
            evidence=_evidence(row, baseline_s),
        )
        for row in recovery.to_dicts()
        if row["kind"] in _DONE
    )


def timeline(
    spike: Spike,
    peak_minute: datetime | None,
    peak_s: float | None,
    recovery: pl.DataFrame,
    earlier: pl.DataFrame,
) -> tuple[TimelineEntry, ...]:
    """The course of events: what was measured, and what people noted.

    recovery  evidence.recovery of one incident
    earlier   happened_at, kind, text of the events shortly before it
    """
    found = [
        TimelineEntry(spike.onset_earliest, spike.onset_latest, "requests", "latency began to rise"),
        *(
            TimelineEntry(row["happened_at"], None, "events", f"{row['kind']}: {row['text']}")
            for frame in (earlier, recovery)
            for row in frame.to_dicts()
        ),
    ]
    if peak_minute is not None and peak_s is not None:
        found.append(TimelineEntry(peak_minute, None, "requests", f"worst minute, P99 {figure(peak_s, 's')}"))
    if spike.end is not None:
        found.append(TimelineEntry(spike.end, None, "requests", "latency was back in its usual range"))
    return tuple(sorted(found, key=lambda entry: (entry.at, entry.source, entry.text)))


def _status(
    row: Mapping[str, Any], spike: Spike, baseline_s: float | None, settings: Mapping[str, float]
) -> str:
    if spike.end is not None and row["happened_at"] >= spike.end:
        lag_s = (row["happened_at"] - spike.end).total_seconds()
        if lag_s > 60:  # noted after the end: it cannot have brought it about
            return "not_verified"
    if spike.end is None:
        return "not_verified"
    watched = (row["minutes_after"] or 0) >= settings["after_minutes"]
    if not watched or (row["requests_after"] or 0) < settings["recovered_requests"] or baseline_s is None:
        return "not_testable"
    if row["p99_after_s"] > settings["recovered_ratio"] * baseline_s:
        return "not_verified"
    if row["requests_ratio"] < settings["traffic_left_ratio"]:
        return "traffic_left"
    return "verified"


def _evidence(row: Mapping[str, Any], baseline_s: float | None) -> tuple[Evidence, ...]:
    found = []
    if row["p99_after_s"] is not None:
        found.append(
            Evidence(
                "recovery.p99_after_s",
                f"P99 over the {row['minutes_after']:.0f} minutes after the end: "
                f"{figure(row['p99_after_s'], 's')} over {row['requests_after']:,} requests; "
                f"usual {figure(baseline_s, 's')}",
                row["p99_after_s"],
                baseline_s,
                "s",
                _SQL,
            )
        )
    if row["minutes_to_end"] is not None:
        found.append(
            Evidence(
                "recovery.minutes_to_end",
                f"latency was back {row['minutes_to_end']:.0f} minutes after it"
                if row["minutes_to_end"] >= 0
                else f"latency was back {-row['minutes_to_end']:.0f} minutes before it",
                row["minutes_to_end"],
                None,
                "min",
                _SQL,
            )
        )
    return tuple(found)

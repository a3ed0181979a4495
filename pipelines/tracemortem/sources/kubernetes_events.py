"""Kubernetes events as JSON (`kubectl get events -o json`, or watched, an object a line) -> events."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO

import polars as pl

from tracemortem.sources import blocks
from tracemortem.sources.batch import EXCERPT, Batch, rejected
from tracemortem.sources.clock import Clock
from tracemortem.sources.json_documents import documents, shown
from tracemortem.sources.records import record

LONGEST = 256 << 20
_FAULTS = {"line": pl.UInt64(), "text": pl.String(), "reason": pl.String()}
# newest first: when it last happened, and where an event is one of a series, when the series did
_TIMES = ("lastTimestamp", "eventTime", "deprecatedLastTimestamp", "firstTimestamp")

Row = tuple[int, datetime, str, str]
Fault = tuple[int, str, str]


def read(stream: BinaryIO, _clock: Clock | None = None) -> Iterator[Batch]:
    """The events of a list, or of objects one after another, plain or as watched.

    An event's time is when it last happened, its kind the reason (OOMKilling, SuccessfulRescale, BackOff) and
    its text says of what, and how often. An entry without a time or a reason is a reject. The line is that
    where the document begins.
    """
    raw = stream.read(LONGEST + 1)
    size = len(raw)
    if size > LONGEST:
        while rest := stream.read(blocks.BLOCK):
            size += len(rest)
        why = f"events of more than {LONGEST >> 20} MiB in one file: split them"
        yield _batch([], [(1, raw[:EXCERPT].decode("utf-8", "replace"), why)], size)
        return
    rows: list[Row] = []
    faults: list[Fault] = []
    for line, document in documents(raw):
        entries = document.get("items") if isinstance(document, dict) and "items" in document else [document]
        # an entry at a time: there are hundreds of events, not millions
        for entry in entries if isinstance(entries, list) else [entries]:
            event = _event(entry.get("object", entry) if isinstance(entry, dict) else entry)
            if isinstance(event, str):
                faults.append((line, shown(entry), event))
            else:
                rows.append((line, *event))
    yield _batch(rows, faults, size)


def _batch(rows: list[Row], faults: list[Fault], size: int) -> Batch:
    columns = {"line": pl.UInt64(), **{name: column.dtype for name, column in record("event").items()}}
    rejects = rejected(pl.DataFrame(faults, schema=_FAULTS, orient="row"))
    events = pl.DataFrame(rows, schema=columns, orient="row")
    return Batch({"event": events}, rejects, len(rows) + len(faults), size, len(rows))


def _event(entry: Any) -> tuple[datetime, str, str] | str:
    """The event of an entry, or why there is none."""
    if not isinstance(entry, dict):
        return "no whole JSON object"
    reason = entry.get("reason")
    if not isinstance(reason, str) or not reason:
        return "an event without a reason"
    series = entry.get("series")
    metadata = entry.get("metadata")
    times = [
        series.get("lastObservedTime") if isinstance(series, dict) else None,
        *(entry.get(name) for name in _TIMES),
        metadata.get("creationTimestamp") if isinstance(metadata, dict) else None,
    ]
    stamp = next((time for time in times if isinstance(time, str) and time), None)
    if stamp is None:
        return "an event without a time"
    try:
        at = datetime.fromisoformat(stamp)
        at = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return f"time is not RFC 3339: {stamp[:40]}"
    return at, reason, _said(entry, series if isinstance(series, dict) else {})


def _said(entry: Mapping[str, Any], series: Mapping[str, Any]) -> str:
    of = entry.get("involvedObject") or entry.get("regarding")
    whose = ""
    if isinstance(of, dict):
        parts = [of.get(key) for key in ("kind", "namespace", "name")]
        whose = "/".join(part for part in parts if isinstance(part, str) and part)
    message = entry.get("message") or entry.get("note") or ""
    often = series.get("count") or entry.get("count") or entry.get("deprecatedCount") or 1
    times = f" ({often} times)" if isinstance(often, int) and often > 1 else ""
    return f"{whose}: {message}{times}" if whose else f"{message}{times}"

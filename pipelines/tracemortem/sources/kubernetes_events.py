"""Kubernetes events as JSON (`kubectl get events -o json`, or watched, an object a line) -> events."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO

import polars as pl

from tracemortem.sources.batch import EXCERPT, Batch, rejected
from tracemortem.sources.blocks import BLOCK
from tracemortem.sources.clock import Clock
from tracemortem.sources.json_documents import Document, documents, shown
from tracemortem.sources.records import record

_FAULTS = {"line": pl.UInt64(), "text": pl.String(), "reason": pl.String()}
# newest first: when it last happened, and where an event is one of a series, when the series did
_TIMES = ("lastTimestamp", "eventTime", "deprecatedLastTimestamp", "firstTimestamp")

Row = tuple[int, datetime, str, str]
Fault = tuple[int, str, str]


def read(stream: BinaryIO, _clock: Clock | None = None) -> Iterator[Batch]:
    """The events of a list, or of objects one after another, plain or as watched.

    An event's time is when it last happened, its kind the reason (OOMKilling, SuccessfulRescale, BackOff) and
    its text says of what, and how often. An entry without a time or a reason is a reject. The line is that
    where the document begins, or in a large one the event.
    """
    rows: list[Row] = []
    faults: list[Fault] = []
    end = begun = 0
    for document in documents(stream, _events_in):
        _take(document, rows, faults)
        end = document.end
        if end - begun >= BLOCK:
            yield _batch(rows, faults, end - begun)
            rows, faults, begun = [], [], end
    yield _batch(rows, faults, end - begun)


def _events_in(first: bytes) -> int:
    """In how many objects and lists an event stands, by how the document begins."""
    return 1 if first.lstrip().startswith(b"[") else 2


def _take(document: Document, rows: list[Row], faults: list[Fault]) -> None:
    if document.fault:
        faults.append((document.line, document.shown, f"no whole JSON object: {document.fault}"[:EXCERPT]))
        return
    found = document.value
    entries = found["items"] if isinstance(found, dict) and "items" in found else found
    # an entry at a time: there are hundreds of events, not millions
    for entry in entries if isinstance(entries, list) else [entries]:
        event = _event(entry.get("object", entry) if isinstance(entry, dict) else entry)
        if isinstance(event, str):
            faults.append((document.line, shown(entry), event))
        else:
            rows.append((document.line, *event))


def _batch(rows: list[Row], faults: list[Fault], size: int) -> Batch:
    columns = {"line": pl.UInt64(), **{name: column.dtype for name, column in record("event").items()}}
    rejects = rejected(pl.DataFrame(faults, schema=_FAULTS, orient="row"))
    events = pl.DataFrame(rows, schema=columns, orient="row")
    return Batch({"event": events}, rejects, len(rows) + len(faults), size, len(rows))


def _event(entry: Any) -> tuple[datetime, str, str] | str:
    """The event of an entry, or why there is none."""
    if not isinstance(entry, dict):
        return "no JSON object"
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

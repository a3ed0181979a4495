"""Events as JSON lines: {"time", "kind", "text"}, one thing that people did or saw a line."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import BinaryIO

import orjson
import polars as pl

from tracemortem.sources import blocks
from tracemortem.sources.batch import Batch, rejected
from tracemortem.sources.records import record

KEYS = ("time", "kind", "text")


def read(stream: BinaryIO) -> Iterator[Batch]:
    """The lines as rows of `event`; a line that is no event is a reject. Blank lines are neither.

    time is RFC 3339 with its zone. Other keys are passed over.
    """
    columns = {name: column.dtype for name, column in record("event").items()}
    for block in blocks.blocks(stream):
        rows: list[tuple[int, datetime, str, str]] = []
        faults: list[tuple[int, str, str]] = []
        if block.overlong is None:
            # a line at a time: there are tens of events, not millions
            for line, text in blocks.lines(block).iter_rows():
                if text.strip():
                    event = _event(text)
                    if isinstance(event, str):
                        faults.append((line, text, event))
                    else:
                        rows.append((line, *event))
            rejects = rejected(_frame(faults, {"text": pl.String(), "reason": pl.String()}))
        else:
            rejects = blocks.overlong(block)
        events = _frame(rows, columns)
        yield Batch({"event": events}, rejects, len(rows) + rejects.height, block.bytes_read, len(rows))


def _event(text: str) -> tuple[datetime, str, str] | str:
    """The event on a line, or why there is none."""
    try:
        entry = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return f"not JSON: {error}"
    if not isinstance(entry, dict):
        return "not a JSON object"
    for key in KEYS:
        if not isinstance(entry.get(key), str):
            return f"no text under {key!r}"
    try:
        at = datetime.fromisoformat(entry["time"])
        if at.tzinfo is None:
            return f"time has no zone: {entry['time'][:40]}"
        return at.astimezone(UTC), entry["kind"], entry["text"]
    except (ValueError, OverflowError):
        return f"time is not RFC 3339: {entry['time'][:40]}"


def _frame(
    rows: list[tuple[int, datetime, str, str]] | list[tuple[int, str, str]], columns: dict[str, pl.DataType]
) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"line": pl.UInt64(), **columns}, orient="row")

"""What was asked of a published file, as text."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import orjson
import polars as pl

from tracemortem.errors import printable
from tracemortem.findings import Range, WhatIf
from tracemortem.incident import Incident


def csv(rows: pl.DataFrame) -> str:
    """With a header; lists, structs and maps, which CSV has no form for, as JSON. No column: no text."""
    if not rows.width:
        return ""
    flat = [_as_json(column) if column.dtype.is_nested() else column for column in rows]
    return pl.DataFrame(flat).write_csv()


def json_lines(rows: pl.DataFrame) -> str:
    """An object a row."""
    return rows.write_ndjson()


def policies(incident: Incident, rows: Sequence[WhatIf]) -> str:
    """What policies would have done, for people: a line a policy, then what each assumes and lacks."""
    return "".join(f"{printable(line)}\n" for line in _policies(incident, rows))


def policies_as_json(incident: Incident, rows: Sequence[WhatIf]) -> str:
    """The same for programs: one object; its what_if is that of report.json, figures not known as null."""
    found = {
        "incident": incident.id,
        "replay": None if incident.replay is None else asdict(incident.replay),
        "what_if": [asdict(row) for row in rows],
    }
    return orjson.dumps(found, option=orjson.OPT_APPEND_NEWLINE).decode()


def _policies(incident: Incident, rows: Sequence[WhatIf]) -> Iterator[str]:
    replay = incident.replay
    yield f"{incident.id}: {replay.text if replay else 'not replayed: not confirmed, or without a cause.'}"
    if rows and rows[0].objective_s is not None:
        yield f"Held to: P99 up to {rows[0].objective_s:.2f} s."
    told = [(row, row.predicted) for row in rows if row.predicted]
    if told:
        yield f"{'':20}  {'P99':>22}  {'short P99':>22}  {'long P99':>22}  keeps"
    for row, of in told:
        figures = "  ".join(f"{_range(one):>22}" for one in (of.p99_s, of.short_p99_s, of.long_p99_s))
        keeps = f"{row.keeps or 'not known'}{', cheapest' if row.is_cheapest else ''}"
        yield f"{row.policy:20}  {figures}  {keeps}"
    for row in rows:
        ranked = f"rank {row.rank}. " if row.status == "ranked" and row.rank else ""
        yield f"{row.policy}: {row.title}. {ranked}{' '.join((row.text, *row.assumes))}"
    cheapest = next((row for row in rows if row.is_cheapest), None)
    if cheapest:
        yield f"The cheapest that surely keeps to it: {cheapest.policy}. {cheapest.text}"
    elif told and rows[0].objective_s is not None:
        yield "None of these surely keeps to it."


def _range(found: Range | None) -> str:
    return "-" if found is None else f"{found.value:.2f} ({found.low:.2f}-{found.high:.2f})"


def _as_json(column: pl.Series) -> pl.Series:
    texts = [
        None if value is None else orjson.dumps(value, default=str).decode() for value in column.to_list()
    ]
    return pl.Series(column.name, texts, dtype=pl.String)

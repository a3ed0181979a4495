"""Metrics as JSON: answers of the Prometheus HTTP API, and the lines of VictoriaMetrics' export."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import orjson
import polars as pl

from tracemortem.sources import blocks, points
from tracemortem.sources.batch import EXCERPT, Batch, rejected
from tracemortem.sources.catalogue import Catalogue
from tracemortem.sources.clock import Clock
from tracemortem.sources.json_documents import documents, shown
from tracemortem.sources.points import Points

LONGEST = 256 << 20
_LATEST_S = 1e11
_PAIR = 2
_FAULTS = {"line": pl.UInt64(), "text": pl.String(), "reason": pl.String()}

Fault = tuple[int, str, str]
Read = tuple[list[Points], list[Fault]]


def read(stream: BinaryIO, _clock: Clock | None = None) -> Iterator[Batch]:
    """The answers of query_range and query (matrix, vector, scalar), one or several in a file.

    A record is a point; a native histogram gives two, its _count and its _sum. Text between the answers, such
    as the query that was asked, is passed over. The line of a point is that where its answer begins.
    """
    raw = stream.read(LONGEST + 1)
    size, catalogue = len(raw), Catalogue()
    if size > LONGEST:
        while rest := stream.read(blocks.BLOCK):
            size += len(rest)
        why = f"answers of more than {LONGEST >> 20} MiB in one file: ask for a shorter stretch at a time"
        yield _batch(([], [(1, raw[:EXCERPT].decode("utf-8", "replace"), why)]), size, catalogue)
        return
    for line, document in documents(raw):
        yield _batch(_answer(document, line), size, catalogue)
        size = 0


def read_export(stream: BinaryIO, _clock: Clock | None = None) -> Iterator[Batch]:
    """The lines of VictoriaMetrics' /api/v1/export: a series a line, its times in milliseconds.

    A record is a point; a line that is no series is one record and a reject.
    """
    catalogue = Catalogue()
    for block in blocks.blocks(stream):
        if block.overlong is not None:
            yield points.overlong(block)
            continue
        found: list[Points] = []
        faults: list[Fault] = []
        # a line at a time: it is a whole series, and its points are taken together
        for line, text in blocks.lines(block).iter_rows():
            if text.strip():
                more, wrong = _exported(text, line)
                found += more
                faults += wrong
        yield _batch((found, faults), block.bytes_read, catalogue)


def _batch(found: Read, bytes_read: int, catalogue: Catalogue) -> Batch:
    stored = sum(len(one.at) for one in found[0])
    rejects = rejected(pl.DataFrame(found[1], schema=_FAULTS, orient="row"))
    return Batch(points.rows(found[0], catalogue), rejects, stored + len(found[1]), bytes_read, stored)


def _answer(document: Any, line: int) -> Read:
    """The points of one answer, in whatever envelope."""
    if not isinstance(document, dict):
        return [], [(line, str(document)[:EXCERPT], "no whole answer of the Prometheus API")]
    if document.get("status") == "error":
        why = f"the answer is an error: {document.get('errorType')}: {document.get('error')}"
        return [], [(line, shown(document), why[:EXCERPT])]
    data = document.get("data", document)
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(result, list):
        return [], [(line, shown(document), "no answer of the Prometheus API: it has no result")]
    if data.get("resultType") == "scalar":
        return [], [(line, shown(result), "a scalar: it says not of which metric it is")]
    found: list[Points] = []
    faults: list[Fault] = []
    for entry in result:
        more, wrong = _series(entry, line)
        found += more
        faults += wrong
    return found, faults


def _series(entry: Any, line: int) -> Read:
    """One entry of a matrix or a vector."""
    labels = entry.get("metric") if isinstance(entry, dict) else None
    if not isinstance(labels, dict) or not all(isinstance(text, str) for text in labels.values()):
        return [], [(line, shown(entry), "a series without labels")]
    values = [entry["value"]] if "value" in entry else entry.get("values", [])
    shapes = [entry["histogram"]] if "histogram" in entry else entry.get("histograms", [])
    name = labels.get("__name__", "")
    parts = [(name, values)]
    if shapes:
        parts += [(f"{name}_{part}", [_part(shape, part) for shape in shapes]) for part in ("count", "sum")]
    found: list[Points] = []
    faults: list[Fault] = []
    for part, pairs in parts:
        if not isinstance(pairs, list):
            faults.append((line, shown(entry), "a series whose values are no list"))
        elif not name:
            why = "no __name__: the answer to a function or a sum does not say which metric it is of"
            faults += [(line, shown(labels), why)] * len(pairs)
        else:
            more, wrong = _paired(part, labels, pairs, line)
            found += more
            faults += wrong
    return found, faults


def _part(shape: Any, part: str) -> Any:
    try:
        return [shape[0], shape[1][part]]
    except (LookupError, TypeError):
        return shape


def _paired(name: str, labels: Mapping[str, str], pairs: Sequence[Any], line: int) -> Read:
    """The points of one series out of [seconds, "value"] pairs."""
    is_pair = [isinstance(pair, list) and len(pair) == _PAIR for pair in pairs]
    good = pairs if all(is_pair) else [pair for pair, is_one in zip(pairs, is_pair, strict=True) if is_one]
    odd = [pair for pair, is_one in zip(pairs, is_pair, strict=True) if not is_one]
    faults = [(line, shown(pair), "a point is a time and a value") for pair in odd]
    at = pl.Series([pair[0] for pair in good], dtype=pl.Float64, strict=False)
    return _kept(name, labels, line, (at * 1e6), [pair[1] for pair in good], faults)


def _exported(text: str, line: int) -> Read:
    """The points of one line of an export."""
    try:
        entry = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return [], [(line, text, f"not JSON: {error}")]
    labels = entry.get("metric") if isinstance(entry, dict) else None
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        return [], [(line, text, "a series without labels")]
    values, times = entry.get("values"), entry.get("timestamps")
    if not isinstance(values, list) or not isinstance(times, list) or len(values) != len(times):
        return [], [(line, text, "not as many timestamps as values")]
    if not labels.get("__name__"):
        return [], [(line, text, "the metric has no name")] * len(values)
    at = pl.Series(times, dtype=pl.Float64, strict=False) * 1e3
    return _kept(labels["__name__"], labels, line, at, ["NaN" if v is None else v for v in values], [])


def _kept(
    name: str,
    labels: Mapping[str, str],
    line: int,
    micros: pl.Series,
    values: Sequence[Any],
    faults: list[Fault],
) -> Read:
    """Points with a time and a number; each of the others is a fault."""
    texts = pl.Series("text", values, dtype=pl.String, strict=False)
    frame = pl.DataFrame({"at": micros, "text": texts}).with_columns(
        value=pl.col("text").cast(pl.Float64, strict=False),
        at=pl.when(pl.col("at").is_between(0, _LATEST_S * 1e6)).then(pl.col("at").round()).cast(pl.Int64),
    )
    is_kept = pl.all_horizontal(pl.col("value", "at").is_not_null())
    for (odd,) in frame.filter(~is_kept).select(pl.col("text").fill_null("")).iter_rows():
        faults.append((line, f"{name} {odd}", "the time is no time, or the value no number"))
    kept = frame.filter(is_kept)
    own = {label: value for label, value in labels.items() if label != "__name__"}
    at = kept["at"].cast(pl.Datetime("us", "UTC"))
    return ([Points(name, own, line, at, kept["value"])] if kept.height else []), faults

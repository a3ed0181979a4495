"""Metrics as JSON: answers of the Prometheus HTTP API, and the lines of VictoriaMetrics' export."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
import orjson
import polars as pl

from tracemortem.sources import blocks, points
from tracemortem.sources.batch import EXCERPT, TIME, Batch, rejected
from tracemortem.sources.blocks import BLOCK, LONGEST
from tracemortem.sources.catalogue import Catalogue
from tracemortem.sources.clock import Clock
from tracemortem.sources.json_documents import Document, documents, shown

_HEAD = 64 << 10
_DATA = re.compile(rb'(?:(?!"result"\s*:).)*?"data"\s*:\s*\{', re.DOTALL)
_OF_SERIES = ("metric", "value", "values", "histogram", "histograms")
_LATEST_S = 1e11
_PAIR = 2
_FAULTS = {"line": pl.UInt64(), "text": pl.String(), "reason": pl.String()}


def read(stream: BinaryIO, _clock: Clock | None = None) -> Iterator[Batch]:
    """The answers of query_range and query (matrix, vector, scalar), one or several in a file.

    A record is a point; a native histogram gives two, its _count and its _sum. Text between the answers, such
    as the query that was asked, is passed over. The line of a point is that where its answer begins, or in a
    large answer its series.
    """
    catalogue, taken, begun = Catalogue(), _Taken(), 0
    end = 0
    for document in documents(stream, _series_in):
        _take(document, taken)
        if document.end - begun >= BLOCK:
            yield taken.batch(document.end - begun, catalogue)
            taken, begun = _Taken(), document.end
        end = document.end
    yield taken.batch(end - begun, catalogue)


def read_export(stream: BinaryIO, _clock: Clock | None = None) -> Iterator[Batch]:
    """The lines of VictoriaMetrics' /api/v1/export: a series a line, its times in milliseconds.

    A record is a point; a line that is no series is one record and a reject.
    """
    catalogue = Catalogue()
    for block in blocks.blocks(stream, longest=LONGEST):
        if block.overlong is not None:
            yield points.overlong(block)
            continue
        taken = _Taken()
        # a line at a time: it is a whole series, and its points are taken together
        for line, text in blocks.lines(block).iter_rows():
            if text.strip():
                _take_line(text, line, taken)
        yield taken.batch(block.bytes_read, catalogue)


@dataclass
class _Taken:
    """The points of some answers, a list each of what they have, and what is a reject."""

    faults: list[tuple[int, str, str]] = field(default_factory=list)
    _named: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    _lines: list[int] = field(default_factory=list)
    _points: list[int] = field(default_factory=list)
    _seconds: list[Any] = field(default_factory=list)
    _values: list[Any] = field(default_factory=list)

    def refuse(self, line: int, excerpt: str, reason: str, times: int = 1) -> None:
        """Note a reject, or several alike."""
        self.faults += [(line, excerpt, reason)] * times

    def add(
        self, line: int, name: str, labels: Mapping[str, str], seconds: Iterable[Any], values: Sequence[Any]
    ) -> None:
        """Points of one series, as they are written."""
        own = {label: value for label, value in labels.items() if label != "__name__"}
        self._named.append((name, own))
        self._lines.append(line)
        self._points.append(len(values))
        self._seconds += seconds
        self._values += values

    def batch(self, size: int, catalogue: Catalogue) -> Batch:
        """Points with a time and a number are stored; each of the others is a reject."""
        owner = np.repeat(np.arange(len(self._points), dtype=np.uint32), self._points)
        at = pl.col("at") * 1e6
        frame = pl.DataFrame(
            {
                "owner": owner,
                "line": np.array(self._lines, dtype=np.uint64)[owner],
                "at": pl.Series(self._seconds, dtype=pl.Float64, strict=False),
                "text": pl.Series(self._values, dtype=pl.String, strict=False),
            }
        ).with_columns(
            value=pl.col("text").cast(pl.Float64, strict=False),
            at=pl.when(at.is_between(0, _LATEST_S * 1e6)).then(at.round()).cast(pl.Int64).cast(TIME),
        )
        is_kept = pl.all_horizontal(pl.col("value", "at").is_not_null())
        odd = frame.filter(~is_kept).select("line", "owner", pl.col("text").fill_null(""))
        why = "the time is no time, or the value no number"
        self.faults += [(line, f"{self._named[of][0]} {text}", why) for line, of, text in odd.iter_rows()]
        kept = frame.filter(is_kept).select(points.SAMPLES.names())
        used, places = np.unique(kept["owner"].to_numpy(), return_inverse=True)
        named = [self._named[at] for at in used.tolist()]
        kept = kept.with_columns(owner=pl.Series(places, dtype=pl.UInt32))
        rows = points.rows_of(named, kept, catalogue)
        rejects = rejected(
            pl.DataFrame(self.faults, schema=_FAULTS, orient="row").sort("line", maintain_order=True)
        )
        return Batch(rows, rejects, kept.height + rejects.height, size, kept.height)


def _series_in(first: bytes) -> int:
    """In how many objects and lists the series of an answer stand, by how it begins."""
    return 3 if _DATA.match(first[:_HEAD]) else 2


def _take(document: Document, taken: _Taken) -> None:
    if document.fault:
        why = f"no whole answer of the Prometheus API: {document.fault}"
        taken.refuse(document.line, document.shown, why[:EXCERPT])
    elif not document.is_entry:
        _take_answer(document.value, document.line, taken)
    elif not (isinstance(document.value, dict) and document.value.keys().isdisjoint(_OF_SERIES)):
        _take_series(document.value, document.line, taken)  # what is none is of the answer's statistics


def _take_answer(document: Any, line: int, taken: _Taken) -> None:
    """The points of one answer, in whatever envelope."""
    if not isinstance(document, dict):
        return taken.refuse(line, shown(document), "no answer of the Prometheus API: it is no object")
    if document.get("status") == "error":
        why = f"the answer is an error: {document.get('errorType')}: {document.get('error')}"
        return taken.refuse(line, shown(document), why[:EXCERPT])
    data = document.get("data", document)
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(result, list):
        return taken.refuse(line, shown(document), "no answer of the Prometheus API: it has no result")
    if data.get("resultType") == "scalar":
        return taken.refuse(line, shown(result), "a scalar: it says not of which metric it is")
    for entry in result:
        _take_series(entry, line, taken)
    return None


def _take_series(entry: Any, line: int, taken: _Taken) -> None:
    """One entry of a matrix or a vector."""
    labels = entry.get("metric") if isinstance(entry, dict) else None
    if not isinstance(labels, dict) or not all(isinstance(text, str) for text in labels.values()):
        return taken.refuse(line, shown(entry), "a series without labels")
    values = [entry["value"]] if "value" in entry else entry.get("values", [])
    shapes = [entry["histogram"]] if "histogram" in entry else entry.get("histograms", [])
    name = labels.get("__name__", "")
    parts = [(name, values)]
    if shapes:
        parts += [(f"{name}_{part}", [_part(shape, part) for shape in shapes]) for part in ("count", "sum")]
    for part, pairs in parts:
        if not isinstance(pairs, list):
            taken.refuse(line, shown(entry), "a series whose values are no list")
        elif not name:
            why = "no __name__: the answer to a function or a sum does not say which metric it is of"
            taken.refuse(line, shown(labels), why, len(pairs))
        else:
            _take_pairs(part, labels, pairs, line, taken)
    return None


def _part(shape: Any, part: str) -> Any:
    try:
        return [shape[0], shape[1][part]]
    except (LookupError, TypeError):
        return shape


def _take_pairs(name: str, labels: Mapping[str, str], pairs: Sequence[Any], line: int, taken: _Taken) -> None:
    """The points of one series out of [seconds, "value"] pairs."""
    good = []
    for pair in pairs:
        if isinstance(pair, list) and len(pair) == _PAIR:
            good.append(pair)
        else:
            taken.refuse(line, shown(pair), "a point is a time and a value")
    taken.add(line, name, labels, [pair[0] for pair in good], [pair[1] for pair in good])


def _take_line(text: str, line: int, taken: _Taken) -> None:
    """The points of one line of an export."""
    try:
        entry = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return taken.refuse(line, text, f"not JSON: {error}")
    labels = entry.get("metric") if isinstance(entry, dict) else None
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        return taken.refuse(line, text, "a series without labels")
    values, times = entry.get("values"), entry.get("timestamps")
    if not isinstance(values, list) or not isinstance(times, list) or len(values) != len(times):
        return taken.refuse(line, text, "not as many timestamps as values")
    if not labels.get("__name__"):
        return taken.refuse(line, text, "the metric has no name", len(values))
    is_number = [isinstance(time, int | float) for time in times]
    seconds = [time / 1e3 if is_one else None for time, is_one in zip(times, is_number, strict=True)]
    return taken.add(line, labels["__name__"], labels, seconds, ["NaN" if v is None else v for v in values])

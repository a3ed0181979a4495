"""OTLP as documents of JSON that are not one a line -> spans, logs, series and samples.

A document may be pretty-printed, stand in a list, or follow the one before it without a line end. Each is put
on one line and then read as JSON lines are. Where the first is larger than a block it is read a resource at a
time, so a document of any size is read in bounded memory, if no resource in it is longer than LONGEST.
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO

import numpy as np
import orjson
import polars as pl

from tracemortem.sources import otlp
from tracemortem.sources.batch import EXCERPT, REJECTS, Batch
from tracemortem.sources.blocks import BLOCK, Block
from tracemortem.sources.json_elements import Element, elements
from tracemortem.sources.otlp_odd import WRAPPERS
from tracemortem.sources.otlp_series import Catalogue
from tracemortem.sources.otlp_shape import ENVELOPE, Many, Message

_LIST = re.compile(rb"(?:\xef\xbb\xbf)?[\s\0]*\[")
_WRAPPED = re.compile(rb'(?:\xef\xbb\xbf)?[\s\0]*\[?\s*\{\s*"(?:%s)"\s*:\s*\{' % "|".join(WRAPPERS).encode())
_DOCUMENTS = 100_000  # in a batch at most, as a document may hold nothing


def read(stream: BinaryIO, size: int = BLOCK) -> Iterator[Batch]:
    """As otlp.read; a record's line is that on which its document begins, or its resource if read by these.

    size   bytes read at a time; the document is read by its resources if the first is longer

    What is no JSON, no envelope, cut off, or too long to be held is one record and one reject.
    """
    by_resource = False

    def depth(first: bytes) -> int:
        nonlocal by_resource
        outer = 1 if _LIST.match(first) else 0
        whole = (one for one in elements(io.BytesIO(first), lambda _: outer, size) if not one.fault)
        by_resource = len(first) >= size and next(whole, None) is None
        return outer + by_resource * (3 if _WRAPPED.match(first) else 2)

    catalogue, gathered = Catalogue(), _Gathered()
    for element in elements(stream, depth, size):
        gathered.add(element, by_resource=by_resource)
        if gathered.held >= BLOCK or len(gathered.lines) >= _DOCUMENTS:
            yield gathered.batch(catalogue)
            gathered = _Gathered(gathered.end, gathered.end)
    if gathered.end > gathered.begin:
        yield gathered.batch(catalogue)


@dataclass
class _Gathered:
    """What a batch will be made of: documents, one a line, and the line of the file where each stood."""

    begin: int = 0
    end: int = 0
    held: int = 0
    documents: list[bytes] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    lost: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, element: Element, *, by_resource: bool) -> None:
        self.end = element.end
        self.held += len(element.text)
        if element.fault:
            excerpt = element.text[: 4 * EXCERPT].decode("utf-8", "replace")[:EXCERPT]
            self.lost.append((element.line, element.fault, excerpt))
            return
        # a tab is as good as a line end between two fields, and as bad in a text
        text = element.text.replace(b"\n", b"\t")
        self.documents.append(_enveloped(text) if by_resource else text)
        self.lines.append(element.line)

    def batch(self, catalogue: Catalogue) -> Batch:
        block = Block(b"\n".join(self.documents), 0, self.end - self.begin)
        found = otlp.batch(block, catalogue)
        lines = pl.Series(np.array(self.lines, dtype=np.uint64))
        rows = {name: _placed(frame, lines) for name, frame in found.rows.items()}
        lost = pl.DataFrame(self.lost, schema=dict(REJECTS), orient="row")
        rejects = pl.concat([_placed(found.rejects, lines), lost]).sort("line", maintain_order=True)
        return replace(found, rows=rows, rejects=rejects, records=found.records + lost.height)


def _placed(frame: pl.DataFrame, lines: pl.Series) -> pl.DataFrame:
    """Rows whose line is the number of their document, from 0, with the line of the file instead."""
    return frame.with_columns(line=lines.gather(frame["line"])) if "line" in frame.columns else frame


def _signals() -> dict[str, str]:
    """What only the resources of one signal hold -> the field of the envelope that lists these."""
    found: dict[str, str] = {}
    for signal, shape in ENVELOPE.fields.items():
        if isinstance(shape, Many) and isinstance(shape.of, Message):
            named = {name: name for name in shape.of.fields} | dict(shape.of.others)
            found |= {other: signal for other, name in named.items() if name.startswith("scope")}
    return found


_SIGNALS = _signals()


def _enveloped(text: bytes) -> bytes:
    """A resource as the one of an envelope; what is none as it is, so that it is refused as no envelope."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    if not isinstance(found, dict) or not ("resource" in found or _SIGNALS.keys() & found.keys()):
        return text
    signal = next((_SIGNALS[name] for name in found if name in _SIGNALS), "resourceSpans")
    return b'{"%s":[%s]}' % (signal.encode(), text)

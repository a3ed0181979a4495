"""Traces as documents of JSON, of Jaeger and Zipkin -> spans, by way of OTLP.

A document is cut into its traces (of Zipkin: into its spans, if that is what it lists), so that it may be
larger than memory. Each becomes an OTLP envelope on the line on which it begins, and is read as such: names
of attributes are known in one place only.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO

import orjson
import polars as pl

from tracemortem.sources import jaeger, otlp, zipkin
from tracemortem.sources.batch import EXCERPT, REJECTS, Batch
from tracemortem.sources.blocks import BLOCK, Block
from tracemortem.sources.json_elements import Element, elements
from tracemortem.sources.otlp_series import Catalogue
from tracemortem.sources.trace_words import Spans

_ANSWER = re.compile(rb'\s*\{(?:(?!"spans"\s*:).)*?"data"\s*:\s*\[', re.DOTALL)
_LIST = re.compile(rb"\s*\[")
_BOM = b"\xef\xbb\xbf"
_HEAD = 64 << 10

_Convert = Callable[[object], Spans]


def read_jaeger(stream: BinaryIO) -> Iterator[Batch]:
    """The spans of answers of Jaeger's API, which its UI downloads too, and of what Elasticsearch stores.

    A record is a span; what is no trace, is cut off or too long is one record and a reject. The line of a
    span is that on which its trace begins.
    """

    def depth(first: bytes) -> int:
        head = first[:_HEAD].removeprefix(_BOM)
        return 2 if _ANSWER.match(head) else 1 if _LIST.match(head) else 0

    return _read(elements(stream, depth), jaeger.spans)


def read_zipkin(stream: BinaryIO) -> Iterator[Batch]:
    """The spans of Zipkin's version 2: a list of them, a list of traces, or a span or a list on each line.

    Records, rejects and lines as of `read_jaeger`.
    """

    def depth(first: bytes) -> int:
        return 1 if _LIST.match(first.removeprefix(_BOM)) else 0

    return _read(elements(stream, depth), zipkin.spans)


@dataclass
class _Gathered:
    """What a batch will be made of. envelopes: resourceSpans, by the line they stand on."""

    begin: int = 0
    end: int = 0
    envelopes: dict[int, list[object]] = field(default_factory=dict)
    lost: list[tuple[int, str, str]] = field(default_factory=list)


def _read(found: Iterator[Element], convert: _Convert) -> Iterator[Batch]:
    catalogue, gathered = Catalogue(), _Gathered()
    for element in found:
        _gather(element, convert, gathered)
        if gathered.end - gathered.begin >= BLOCK:
            yield _batch(gathered, catalogue)
            gathered = _Gathered(element.end, element.end)
    if gathered.end > gathered.begin:
        yield _batch(gathered, catalogue)


def _gather(element: Element, convert: _Convert, into: _Gathered) -> None:
    into.end = element.end
    fault = element.fault
    if not fault:
        try:
            read = convert(orjson.loads(element.text))
        except orjson.JSONDecodeError as error:
            fault = f"not JSON: {error}"
        except RecursionError:
            fault = "nested too deeply"
        else:
            into.envelopes.setdefault(element.line, []).extend(read.resource_spans())
            into.lost += [(element.line, why, shown) for why, shown in read.faults]
    if fault:
        excerpt = element.text[: 4 * EXCERPT].decode("utf-8", "replace")[:EXCERPT]
        into.lost.append((element.line, fault, excerpt))


def _batch(gathered: _Gathered, catalogue: Catalogue) -> Batch:
    """The envelopes, each written on its line: empty lines stand for those between."""
    first = min(gathered.envelopes, default=1)
    lines = [b""] * (max(gathered.envelopes, default=first) - first + 1)
    for line, envelope in gathered.envelopes.items():
        lines[line - first] = orjson.dumps({"resourceSpans": envelope}) if envelope else b""
    block = Block(b"\n".join(lines), first, gathered.end - gathered.begin)
    batch = otlp.batch(block, catalogue)
    own = pl.DataFrame(gathered.lost, schema=dict(REJECTS), orient="row")
    rejects = pl.concat([batch.rejects, own]).sort("line", maintain_order=True)
    return replace(batch, rejects=rejects, records=batch.records + own.height)

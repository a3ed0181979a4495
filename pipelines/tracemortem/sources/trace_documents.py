"""Traces as documents of JSON, of Jaeger and Zipkin -> spans, by way of OTLP.

A document is cut into its traces (of Zipkin: into its spans, if that is what it lists), so that it may be
larger than memory. Each becomes an OTLP envelope on the line on which it begins, and is read as such: names
of attributes are known in one place only.
"""

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

import orjson

from tracemortem.sources import jaeger, zipkin
from tracemortem.sources.batch import Batch, excerpt
from tracemortem.sources.json_elements import Element, elements
from tracemortem.sources.messages import Messages
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


def _read(found: Iterator[Element], convert: _Convert) -> Iterator[Batch]:
    catalogue, messages, end = Catalogue(), Messages(), 0
    for element in found:
        messages.taken, end = messages.taken + element.end - end, element.end
        _gather(element, convert, messages)
        if messages.is_full:
            yield messages.batch(catalogue)
            messages = Messages()
    if not messages.is_empty:
        yield messages.batch(catalogue)


def _gather(element: Element, convert: _Convert, into: Messages) -> None:
    fault = element.fault
    if not fault:
        try:
            read = convert(orjson.loads(element.text))
        except orjson.JSONDecodeError as error:
            fault = f"not JSON: {error}"
        except RecursionError:
            fault = "nested too deeply"
        else:
            if envelope := read.resource_spans():
                into.add(element.line, orjson.dumps({"resourceSpans": envelope}))
            for why, shown in read.faults:
                into.lose(element.line, why, shown)
    if fault:
        into.lose(element.line, fault, excerpt(element.text))

"""The JSON documents of a stream: one, or several with text between; large ones by their entries."""

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson

from tracemortem.sources.batch import EXCERPT, excerpt
from tracemortem.sources.blocks import BLOCK
from tracemortem.sources.json_elements import elements

# how an object or a list begins that is no part of a query such as rate(a{b="c"}[5m])
_BEGINS = re.compile(rb'\{\s*(?:["}]|\Z)|\[\s*(?:[\[{"\]]|\Z)')


@dataclass(frozen=True)
class Document:
    """A document, or an entry of one.

    line      where it begins, from 1
    value     it, parsed; None where it is not whole
    fault     why it is not whole; "" where it is
    shown     how it begins, where it is not whole
    end       how many bytes of the stream lie before its end
    is_entry  whether it is but an entry of a document
    """

    line: int
    value: Any
    fault: str
    shown: str
    end: int
    is_entry: bool


def documents(stream: BinaryIO, entries_in: Callable[[bytes], int]) -> Iterator[Document]:
    """The documents in order; or the entries of each, where the first is longer than a block.

    entries_in  tells of the first chunk in how many objects and lists an entry stands

    Either is held whole up to LONGEST. Text between documents, such as the query that was asked, is passed
    over.
    """
    is_entry = False

    def depth(first: bytes) -> int:
        nonlocal is_entry
        whole = (one for one in elements(io.BytesIO(first), lambda _: 0, BLOCK) if not one.fault)
        is_entry = len(first) >= BLOCK and next(whole, None) is None
        return entries_in(first) if is_entry else 0

    for element in elements(stream, depth, BLOCK):
        if element.text and not _BEGINS.match(element.text):
            continue
        value, fault = (None, element.fault) if element.fault else _parsed(element.text)
        beginning = excerpt(element.text) if fault else ""
        yield Document(element.line, value, fault, beginning, element.end, is_entry)


def shown(what: object) -> str:
    """A value as the excerpt of a reject."""
    return json.dumps(what, ensure_ascii=False)[:EXCERPT]


def _parsed(text: bytes) -> tuple[Any, str]:
    try:
        return orjson.loads(text), ""
    except orjson.JSONDecodeError as error:
        fault = f"not JSON: {error}"
    # JSON may name halves of surrogate pairs, which UTF-8 cannot hold
    try:
        lenient = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")
        return orjson.loads(lenient), ""
    except (ValueError, RecursionError):  # also a number of more digits than Python takes
        return None, fault

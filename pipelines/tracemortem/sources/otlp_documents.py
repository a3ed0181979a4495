"""OTLP as documents of JSON that are not one a line -> spans, logs, series and samples.

A document may be pretty-printed, stand in a list, or follow the one before it without a line end. Each is put
on one line and then read as JSON lines are. Where the first is larger than a block it is read a resource at a
time, so a document of any size is read in bounded memory, if no resource in it is longer than LONGEST.
"""

import io
import re
from collections.abc import Iterator
from typing import BinaryIO

import orjson

from tracemortem.sources.batch import Batch, excerpt
from tracemortem.sources.blocks import BLOCK
from tracemortem.sources.json_elements import elements
from tracemortem.sources.messages import Messages
from tracemortem.sources.otlp_odd import WRAPPERS
from tracemortem.sources.otlp_series import Catalogue
from tracemortem.sources.otlp_shape import ENVELOPE, Many, Message

# blanks may go on for megabytes: no two parts of a pattern may both take them
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?[\s\0]*\[")
_WRAPPED = re.compile(
    rb'(?:\xef\xbb\xbf)?[\s\0]*(?:\[\s*)?\{\s*"(?:%s)"\s*:\s*\{' % "|".join(WRAPPERS).encode()
)


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

    catalogue, messages, end = Catalogue(), Messages(), 0
    for element in elements(stream, depth, size):
        messages.taken, end = messages.taken + element.end - end, element.end
        if element.fault:
            messages.lose(element.line, element.fault, excerpt(element.text))
        else:
            # a tab is as good as a line end between two fields, and as bad in a text
            text = element.text.replace(b"\n", b"\t")
            messages.add(element.line, _enveloped(text) if by_resource else text)
        if messages.is_full:
            yield messages.batch(catalogue)
            messages = Messages()
    if not messages.is_empty:
        yield messages.batch(catalogue)


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

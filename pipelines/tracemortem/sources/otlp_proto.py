"""OTLP as messages in frames (otlp_frames) -> spans, logs, series and samples.

Nothing in a message of protobuf names its signal, so it is parsed as each, and told by what only the right
one gives. It then goes the way of a JSON line.
"""

from collections.abc import Iterator
from typing import BinaryIO

import orjson
from google.protobuf.json_format import MessageToDict

from tracemortem.sources import otlp_frames
from tracemortem.sources.batch import Batch
from tracemortem.sources.blocks import BLOCK
from tracemortem.sources.messages import Messages
from tracemortem.sources.otlp_frames import Frame
from tracemortem.sources.otlp_message import parsed
from tracemortem.sources.otlp_series import Catalogue
from tracemortem.sources.otlp_spans import Found

LARGE = 4 << 20  # bytes of messages from which on a compiled scanner makes up for its start
_MOST = 100_000  # messages in a batch, as one may hold nothing


def read(stream: BinaryIO) -> Iterator[Batch]:
    """As otlp.read; the line of a record, and of a reject, is the number of its frame, from 1.

    A frame holds an export request as protobuf or as JSON. One that is none, is longer than LONGEST or is cut
    off is one record and one reject.
    """
    return _read(otlp_frames.prefixed(stream))


def read_bare(stream: BinaryIO) -> Iterator[Batch]:
    """As read, of one export request without a length before it; for line, the number of the resource."""
    return _read(otlp_frames.bare(stream))


def _read(frames: Iterator[Frame]) -> Iterator[Batch]:
    catalogue, held, size, is_large = Catalogue(), [], 0, False
    for frame in frames:
        held.append(frame)
        size += len(frame.body)
        if size >= BLOCK or len(held) >= _MOST:
            is_large |= size >= LARGE
            yield _batch(held, catalogue, is_large=is_large)
            held, size = [], 0
    if held:
        yield _batch(held, catalogue, is_large=is_large or size >= LARGE)


def _batch(frames: list[Frame], catalogue: Catalogue, *, is_large: bool) -> Batch:
    messages = Messages(sum(frame.taken for frame in frames))
    scanned: list[Found] = []
    if is_large:
        from tracemortem.sources import otlp_scanned

        scanned, frames = otlp_scanned.messages(frames)
    for frame in frames:
        if frame.fault:
            messages.lose(frame.number, frame.fault, "")
        elif frame.is_json:
            messages.add(frame.number, frame.body.replace(b"\n", b" "))
        elif (message := parsed(frame.body)) is None:
            messages.lose(frame.number, "a frame that is no OTLP export request", frame.body[:50].hex())
        else:
            messages.add(frame.number, orjson.dumps(MessageToDict(message, use_integers_for_enums=True)))
    return messages.batch(catalogue, scanned)

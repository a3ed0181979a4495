"""Spans of OTLP protobuf, each message after its length, into columns.

python tests/bench/otlp_protobuf.py METHOD FILE
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from measure import Cost
from methods import Method, compared, rows, run

if TYPE_CHECKING:
    import polars as pl

SPANS = 300_000


def scanned(file: Path, _: Path) -> str:
    """The product's reader, up to its frames."""
    from tracemortem.sources import otlp_proto

    with file.open("rb") as stream:
        return _summed(batch.rows["span"] for batch in otlp_proto.read(stream))


def loop(file: Path, _: Path) -> str:
    """A loop over opentelemetry-proto's messages that makes the same columns."""
    import otlp_loop
    from otlp_traces import bodies

    return _summed(otlp_loop.frames(bodies(file)))


def parsed(file: Path, _: Path) -> str:
    """The parser of protobuf in C (upb), by opentelemetry-proto, and nothing made of its messages."""
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
    from otlp_traces import bodies

    messages = (TracesData.FromString(body) for body in bodies(file))
    return f"{sum(len(message.resource_spans[0].scope_spans[0].spans) for message in messages)} spans"


METHODS: Mapping[str, Method] = {
    "tracemortem frames": scanned,
    "opentelemetry-proto and a loop": loop,
    "opentelemetry-proto, parse alone": parsed,
}


def _summed(frames: "Iterable[pl.DataFrame]") -> str:
    spans = tokens = 0
    for frame in frames:
        spans, tokens = spans + frame.height, tokens + frame["prompt_tokens"].sum()
    return rows(spans, tokens)


def written(folder: Path, spans: int = SPANS) -> Path:
    """The messages."""
    import otlp_traces

    (folder / "otlp").mkdir()
    file = folder / "otlp" / "spans.pb"
    otlp_traces.write(file, spans)
    return file


def costs(file: Path, runs: int) -> list[Cost]:
    """A row a method."""
    return compared(__file__, METHODS, file, runs)


if __name__ == "__main__":
    run(METHODS, *sys.argv[1:])

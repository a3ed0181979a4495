"""OTLP as JSON lines, as the Collector's file exporter writes it -> spans, logs, series and samples.

One file may mix the three signals; a line is one batch of one exporter.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import polars as pl
import pyarrow.compute as pc

from tracemortem.sources import blocks
from tracemortem.sources.attributes import Used
from tracemortem.sources.batch import REJECTS, Batch
from tracemortem.sources.blocks import Block
from tracemortem.sources.opened import HEAD
from tracemortem.sources.otlp_envelopes import envelopes
from tracemortem.sources.otlp_logs import logs
from tracemortem.sources.otlp_metrics import samples
from tracemortem.sources.otlp_odd import Lost
from tracemortem.sources.otlp_series import Catalogue
from tracemortem.sources.otlp_shape import ENVELOPE
from tracemortem.sources.otlp_spans import Found, in_envelopes, spans

LARGE = 8 << 20  # bytes of a file's first block from which on a compiled scanner makes up for its start


def read(stream: BinaryIO) -> Iterator[Batch]:
    """The records of a file as rows of `span`, `log`, `series` and `sample`; each is stored or a reject.

    A record is a span, a log record or a data point; of a point of a histogram come several samples. A line
    that is no JSON, or no envelope, is one record and one reject. A row's line is that of its envelope. A
    series is given in the batch where it first occurs.
    """
    catalogue, is_large = Catalogue(), False
    for block in blocks.blocks(stream, longest=blocks.LONGEST):
        is_large |= len(block.text) >= LARGE and b'"resourceSpans"' in block.text[:HEAD]
        yield batch(block, catalogue, is_large=is_large)


def batch(block: Block, catalogue: Catalogue, *, is_large: bool = False) -> Batch:
    """The records of one block of lines.

    catalogue   the series of the file so far
    is_large    whether there are so many traces that a compiled scanner makes up for its start
    """
    scanned: list[Found] = []
    lines: Iterable[tuple[int, bytes]]
    if is_large:
        from tracemortem.sources import otlp_scanned

        scanned, lines = otlp_scanned.json_lines(block.text, block.first_line)
    else:
        lines = enumerate(block.text.split(b"\n"), block.first_line)
    lost = [] if block.overlong is None else [blocks.overlong(block)]
    return gathered(scanned, lines, lost, block.bytes_read, catalogue)


def gathered(
    scanned: list[Found],
    lines: Iterable[tuple[int, bytes]],
    lost: list[pl.DataFrame],
    bytes_read: int,
    catalogue: Catalogue,
) -> Batch:
    """The records of spans that were scanned, and of envelopes as lines with their numbers, ascending.

    lost        rejects of what was no envelope to begin with: a record each
    bytes_read  how many bytes of the file all this is
    """
    found = envelopes(lines)
    columns = {name: pc.struct_field(found.items, name) for name in ENVELOPE.fields}
    if len(found.items) or not scanned:
        scanned = [*scanned, in_envelopes(columns["resourceSpans"], found.lines)]
    span, span_rejects, names = _spans(scanned)
    log, log_rejects = logs(columns["resourceLogs"], found.lines)
    sample, point_rejects, points = samples(columns["resourceMetrics"], found.lines, catalogue)
    rejected = pl.concat([_lost(found.lost), span_rejects, log_rejects, point_rejects, *lost]).sort(
        "line", maintain_order=True
    )
    stored = span.height + log.height + points
    rows = {"span": span, "log": log, "series": catalogue.take_new(), "sample": sample}
    return Batch(rows, rejected, stored + rejected.height, bytes_read, stored, names=names)


def _spans(found: list[Found]) -> tuple[pl.DataFrame, pl.DataFrame, Used]:
    """As otlp_spans.spans, of what some readers found, in the order of lines."""
    filled = [part for part in found if part.plain.height] or found[:1]
    if len(filled) == 1:
        return spans(filled[0])
    rows, rejects, used = zip(*map(spans, filled), strict=True)
    return pl.concat(rows).sort("line", maintain_order=True), pl.concat(rejects), sum(used, Counter())


def _lost(lost: list[Lost]) -> pl.DataFrame:
    return pl.DataFrame(
        [(one.line, one.reason, one.excerpt) for one in lost], schema=dict(REJECTS), orient="row"
    )

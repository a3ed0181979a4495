"""OTLP as JSON lines, as the Collector's file exporter writes it -> spans, logs, series and samples.

One file may mix the three signals; a line is one batch of one exporter.
"""

from collections.abc import Iterator
from typing import BinaryIO

import polars as pl
import pyarrow.compute as pc

from tracemortem.sources import blocks
from tracemortem.sources.batch import REJECTS, Batch
from tracemortem.sources.blocks import Block
from tracemortem.sources.otlp_envelopes import envelopes
from tracemortem.sources.otlp_logs import logs
from tracemortem.sources.otlp_metrics import samples
from tracemortem.sources.otlp_odd import Lost
from tracemortem.sources.otlp_series import Catalogue
from tracemortem.sources.otlp_shape import ENVELOPE
from tracemortem.sources.otlp_spans import spans


def read(stream: BinaryIO) -> Iterator[Batch]:
    """The records of a file as rows of `span`, `log`, `series` and `sample`; each is stored or a reject.

    A record is a span, a log record or a data point; of a point of a histogram come several samples. A line
    that is no JSON, or no envelope, is one record and one reject. A row's line is that of its envelope. A
    series is given in the batch where it first occurs.
    """
    catalogue = Catalogue()
    for block in blocks.blocks(stream, longest=blocks.LONGEST):
        yield batch(block, catalogue)


def batch(block: Block, catalogue: Catalogue) -> Batch:
    """The records of one block of lines; catalogue: the series of the file so far."""
    found = envelopes(block.text, block.first_line)
    columns = {name: pc.struct_field(found.items, name) for name in ENVELOPE.fields}
    span, span_rejects, names = spans(columns["resourceSpans"], found.lines)
    log, log_rejects = logs(columns["resourceLogs"], found.lines)
    sample, point_rejects, points = samples(columns["resourceMetrics"], found.lines, catalogue)
    rejects = [_lost(found.lost), span_rejects, log_rejects, point_rejects]
    if block.overlong is not None:
        rejects.append(blocks.overlong(block))
    rejected = pl.concat(rejects).sort("line", maintain_order=True)
    stored = span.height + log.height + points
    rows = {"span": span, "log": log, "series": catalogue.take_new(), "sample": sample}
    return Batch(rows, rejected, stored + rejected.height, block.bytes_read, stored, names=names)


def _lost(lost: list[Lost]) -> pl.DataFrame:
    return pl.DataFrame(
        [(one.line, one.reason, one.excerpt) for one in lost], schema=dict(REJECTS), orient="row"
    )

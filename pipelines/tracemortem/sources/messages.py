"""Messages of OTLP that are no lines of a file -> batches, each by way of a line of JSON of its own."""

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from tracemortem.sources import otlp
from tracemortem.sources.batch import REJECTS, Batch
from tracemortem.sources.blocks import BLOCK, Block
from tracemortem.sources.otlp_series import Catalogue

_MOST = 100_000  # messages in a batch, as one may hold nothing


@dataclass
class Messages:
    """What a batch will be made of. taken: bytes of the file."""

    taken: int = 0
    _held: int = 0
    _texts: list[bytes] = field(default_factory=list)
    _lines: list[int] = field(default_factory=list)
    _lost: list[tuple[int, str, str]] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        """Whether it is time to make a batch."""
        return self._held >= BLOCK or len(self._lines) + len(self._lost) >= _MOST

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing of the file, neither bytes nor messages."""
        return not (self.taken or self._lines or self._lost)

    def add(self, line: int, text: bytes) -> None:
        """Add an envelope: JSON without a line end. line: of its records, ascending, and may come again."""
        self._lines.append(line)
        self._texts.append(text)
        self._held += len(text)

    def lose(self, line: int, reason: str, excerpt: str) -> None:
        """Note what is no message: one record and one reject."""
        self._lost.append((line, reason, excerpt))
        self._held += len(excerpt)

    def batch(self, catalogue: Catalogue) -> Batch:
        """The records; catalogue: the series of the file so far."""
        found = otlp.batch(Block(b"\n".join(self._texts), 0, self.taken), catalogue)
        lines = pl.Series(np.array(self._lines, dtype=np.uint64))
        rows = {name: _placed(frame, lines) for name, frame in found.rows.items()}
        lost = pl.DataFrame(self._lost, schema=dict(REJECTS), orient="row")
        rejects = pl.concat([_placed(found.rejects, lines), lost]).sort("line", maintain_order=True)
        return replace(found, rows=rows, rejects=rejects, records=found.records + lost.height)


def _placed(frame: pl.DataFrame, lines: pl.Series) -> pl.DataFrame:
    """Rows whose line is the number of their message, from 0, with the line of that instead."""
    return frame.with_columns(line=lines.gather(frame["line"])) if "line" in frame.columns else frame

"""Messages of OTLP that are no lines of a file -> batches, each by way of a line of JSON of its own."""

from dataclasses import dataclass, field

import polars as pl

from tracemortem.sources import otlp
from tracemortem.sources.batch import REJECTS, Batch
from tracemortem.sources.blocks import BLOCK
from tracemortem.sources.otlp_series import Catalogue
from tracemortem.sources.otlp_spans import Found

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

    def batch(self, catalogue: Catalogue, scanned: list[Found] | None = None) -> Batch:
        """The records; catalogue: the series of the file so far; scanned: spans of other messages."""
        lost = pl.DataFrame(self._lost, schema=dict(REJECTS), orient="row")
        lines = zip(self._lines, self._texts, strict=True)
        return otlp.gathered(scanned or [], lines, [lost], self.taken, catalogue)

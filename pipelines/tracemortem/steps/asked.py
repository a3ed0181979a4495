"""What steps ask for rows: the work file of a run, or a file that was published."""

from collections.abc import Mapping
from typing import Protocol

import polars as pl

from tracemortem.warehouse.engine import Value


class Asked(Protocol):
    """Either of the two."""

    def frame(self, sql: str, params: Mapping[str, Value] | None = None) -> pl.DataFrame:
        """The rows of a SELECT."""

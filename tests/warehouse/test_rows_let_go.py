"""What is stored of a file is not held in memory as well until the file's end."""

import weakref
from collections.abc import Callable

import polars as pl
import pyarrow as pa
import pytest

from tracemortem.warehouse.store import Store

Rows = Callable[..., pl.DataFrame]
FILE = {"path": "day/events.jsonl", "sha256": "ab12", "size": 90, "kind": "event", "format_name": "events"}


def test_the_rows_of_a_block_are_let_go_before_the_file_ends(
    store: Store, events: Rows, rejects: Rows, monkeypatch: pytest.MonkeyPatch
):
    handed: list[weakref.ref[pa.Table]] = []
    to_arrow = pl.DataFrame.to_arrow

    def watched(frame: pl.DataFrame, **as_asked: pl.CompatLevel) -> pa.Table:
        table = to_arrow(frame, **as_asked)
        handed.append(weakref.ref(table))
        return table

    monkeypatch.setattr(pl.DataFrame, "to_arrow", watched)
    with store.loading(**FILE) as load:
        for _ in range(3):
            load.append({"event": events("a")}, rejects("no time"), records=2, stored=1, bytes_read=30)
        held = [table for table in handed if table() is not None]
    assert (len(handed) >= 6, held) == (True, [])

"""What dcgmi dmon prints becomes series of each GPU, at the times told."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from tracemortem.sources import blocks, dcgmi
from tracemortem.sources.batch import Batch
from tracemortem.sources.clock import Clock
from tracemortem.sources.find import survey

AT = datetime(2026, 2, 3, 11, 2, 7, tzinfo=UTC)
CLOCK = Clock(AT, 1.0, source="--start")
TEXT = """#Entity   GPUTL             POWER             DRAMA
ID                          W
GPU 0     61                412.118           0.367
GPU 1     N/A               409.002           0.371
GPU 0     62                413.000           0.368
"""


def one(text: str, clock: Clock = CLOCK) -> Batch:
    (batch,) = dcgmi.read(io.BytesIO(text.encode()), clock)
    assert batch.records == batch.stored + batch.rejects.height
    return batch


def test_a_row_is_a_record_and_each_repetition_of_an_entity_the_next_tick():
    batch = one(TEXT)
    samples = batch.rows["sample"].join(batch.rows["series"], on="series_no").sort("line", "field")
    later = AT + timedelta(seconds=1)
    assert (batch.records, batch.clock) == (3, "--start")
    assert samples.select("at", "gpu", "field", pl.col("value") * pl.col("times")).rows() == [
        (AT, "0", "dram_active_ratio", 0.367),
        (AT, "0", "gpu_util_ratio", 0.61),
        (AT, "0", "power_w", 412.118),
        (AT, "1", "dram_active_ratio", 0.371),
        (AT, "1", "power_w", 409.002),
        (later, "0", "dram_active_ratio", 0.368),
        (later, "0", "gpu_util_ratio", 0.62),
        (later, "0", "power_w", 413.0),
    ]


def test_headers_that_come_again_and_the_last_words_are_no_records():
    old = "# Entity  GPUTL\nId\nGPU-I 3  7\ndmon was stopped due to receiving a signal\n"
    assert (one(TEXT + old).records, one(TEXT + old).rejects.height) == (4, 0)


def test_a_row_without_a_number_is_a_reject():
    batch = one(TEXT + "GPU 1     N/A               N/A               N/A\n")
    assert (batch.records, batch.stored) == (4, 3)
    assert batch.rejects.select("line", "reason").rows() == [(6, "no number in it")]


def test_a_row_that_is_none_is_a_reject():
    batch = one(TEXT + "Error setting watches\nGPU 0  1\n")
    assert batch.rejects.select("line", "reason").rows() == [
        (6, "no entity and 3 values"),
        (7, "no entity and 3 values"),
    ]


@pytest.mark.parametrize("columns", [0, 5000])
def test_rows_under_a_header_that_is_none_are_rejects(columns: int):
    batch = one("#Entity" + " X" * columns + "\nGPU 0 1\n")
    assert batch.rejects["reason"].to_list() == [f"the header above names {columns} fields"]


def test_without_the_distance_only_the_first_tick_has_a_time():
    batch = one(TEXT, Clock(AT))
    reason = "no timestamp, and this is tick 2 of the file: give --start and --every"
    assert (batch.stored, batch.rejects["reason"].to_list()) == (2, [reason])


def test_ticks_are_counted_across_blocks(monkeypatch):
    cut = blocks.blocks
    monkeypatch.setattr(blocks, "blocks", lambda stream: cut(stream, 100))
    text = TEXT + "GPU 0     62                413.000           0.368\n" * 30
    batches = list(dcgmi.read(io.BytesIO(text.encode()), CLOCK))
    assert max(at for batch in batches for at in batch.rows["sample"]["at"]) == AT + timedelta(seconds=31)


def test_it_is_told_by_its_header(tmp_path: Path):
    (tmp_path / "a").write_text(TEXT)
    assert survey([str(tmp_path)])[0].format == "dcgmi_dmon"

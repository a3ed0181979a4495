"""What nvidia-smi dmon and pmon print becomes series of each GPU and process."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from tracemortem.sources import blocks, nvidia_dmon
from tracemortem.sources.batch import Batch
from tracemortem.sources.clock import Clock
from tracemortem.sources.find import survey

AT = datetime(2026, 2, 3, 11, 2, 7, tzinfo=UTC)
CLOCK = Clock(AT, 1.0, source="--start")
HEADER = """# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk     fb
# Idx      W      C      C      %      %    MHz    MHz     MB
"""
DMON = f"""{HEADER}    0    412     61      -     97     55   2619   1980  70000
    1     70     35      -      0      0   2619    345      4
"""
DATED = """#Date       Time        gpu   pwr    sm  rxpci
#YYYYMMDD   HH:MM:SS    Idx     W     %   MB/s
 20260203   12:02:07      0   412    97     12
"""
PMON = """# gpu         pid  type    sm   mem   command
# Idx           #   C/G     %     %   name
    0       14835     C    90    10   VLLM::EngineCore 0
    0       14945     C     -     -   python
    1           -     -     -     -   -
"""


def one(text: str, clock: Clock = CLOCK) -> Batch:
    (batch,) = nvidia_dmon.read(io.BytesIO(text.encode()), clock)
    assert batch.records == batch.stored + batch.rejects.height
    return batch


def samples(batch: Batch) -> pl.DataFrame:
    joined = batch.rows["sample"].join(batch.rows["series"], on="series_no")
    return joined.with_columns(pl.col("value") * pl.col("times")).sort("line", "name")


def test_a_row_is_a_record_of_one_gpu_and_a_dash_is_no_value():
    batch = one(DMON)
    assert (batch.records, batch.clock) == (2, "--start")
    found = samples(batch).filter(pl.col("gpu") == "0")
    assert found.select("at", "field", "value").rows() == [
        (AT, "mem_clock_mhz", 2619.0),
        (AT, "sm_clock_mhz", 1980.0),
        (AT, "fb_used_bytes", 70000.0 * 2**20),
        (AT, "power_w", 412.0),
        (AT, "gpu_temp_c", 61.0),
        (AT, "gpu_util_ratio", 0.97),
        (AT, "mem_copy_util_ratio", 0.55),
    ]


def test_a_tick_ends_where_a_gpu_comes_again():
    again = one(DMON + DMON)
    assert samples(again)["at"].unique().sort().to_list() == [AT, AT + timedelta(seconds=1)]


def test_date_and_time_are_those_of_the_zone_told_and_what_has_no_field_is_kept():
    batch = one(DATED, Clock(timezone="Europe/Berlin"))
    assert batch.clock == ""
    assert samples(batch).select("at", "name", "field", "value").rows() == [
        (AT, "nvidia_smi.dmon.rxpci", None, 12.0),
        (AT, "nvidia_smi.power.draw", "power_w", 412.0),
        (AT, "nvidia_smi.utilization.gpu", "gpu_util_ratio", 0.97),
    ]


def test_a_row_of_nothing_but_dashes_is_a_reject_and_yet_part_of_its_tick():
    idle = PMON.replace("    90    10", "     -     -")
    batch = one(idle + PMON)
    assert (batch.records, batch.stored) == (6, 1)
    assert batch.rejects["reason"].to_list() == ["no number in it"] * 5
    assert samples(batch)["at"].unique().to_list() == [AT + timedelta(seconds=1)]


@pytest.mark.parametrize("column", ["line", "text", "at", "round", "reason"])
def test_a_column_may_have_any_name(column: str):
    batch = one(f"# gpu {column}\n    0    7\n")
    assert samples(batch).select("name", "value").rows() == [(f"nvidia_smi.dmon.{column}", 7.0)]


def test_a_process_keeps_its_command_blanks_and_all():
    batch = one(PMON)
    assert (batch.records, batch.rejects["line"].to_list()) == (3, [4, 5])
    assert samples(batch).select("name", "value", "field").rows() == [
        ("nvidia_smi.pmon.mem", 10.0, None),
        ("nvidia_smi.pmon.sm", 90.0, None),
    ]
    assert {one["key"]: one["value"] for one in batch.rows["series"]["labels"][0]} == {
        "gpu": "0",
        "pid": "14835",
        "type": "C",
        "command": "VLLM::EngineCore 0",
    }


@pytest.mark.parametrize(
    ("text", "clock", "reason"),
    [
        (HEADER + "    0    412     61\n", CLOCK, "not the 9 columns of the header"),
        ("    0    412     61\n", CLOCK, "no header above it"),
        (
            HEADER + "  GPU    412     61      -     97     55   2619   1980  70000\n",
            CLOCK,
            "not the 9 columns of the header",
        ),
        (
            DATED.replace("12:02:07", "25:02:07"),
            CLOCK,
            "the date and time are no local time: 20260203 25:02:07",
        ),
        (
            HEADER + "    0     no     no     no     no     no     no     no     no\n",
            CLOCK,
            "no number in it",
        ),
        (HEADER + "    0      1      1      -      1      1      1      1      1\n", Clock(), "no timestamp"),
    ],
)
def test_a_row_that_cannot_be_read_is_a_reject(text: str, clock: Clock, reason: str):
    assert one(text, clock).rejects["reason"].to_list() == [reason]


def test_blocks_share_the_header_and_the_ticks(monkeypatch: pytest.MonkeyPatch):
    cut = blocks.blocks
    monkeypatch.setattr(blocks, "blocks", lambda stream: cut(stream, 160))
    batches = list(nvidia_dmon.read(io.BytesIO((DMON * 6).encode()), CLOCK))
    assert len(batches) > 3
    times = pl.concat([batch.rows["sample"] for batch in batches])["at"].unique().sort().to_list()
    assert times == [AT + timedelta(seconds=second) for second in range(6)]


@pytest.mark.parametrize("text", [DMON, DATED, PMON])
def test_it_is_told_by_its_header(tmp_path: Path, text: str):
    (tmp_path / "a").write_text(text)
    assert survey([str(tmp_path)])[0].format == "nvidia_smi_dmon"

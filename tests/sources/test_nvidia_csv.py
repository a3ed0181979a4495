"""The CSV of nvidia-smi becomes series of each GPU, in our units, at times of the zone told."""

import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from tracemortem.sources import blocks, nvidia_csv
from tracemortem.sources.batch import SAMPLE, SERIES, Batch
from tracemortem.sources.clock import Clock
from tracemortem.sources.find import survey

CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "nvidia_smi" / "nvidia_gpu_exporter"
NAMES = sorted(path.name for path in CAPTURES.glob("*__*.txt"))
AT = datetime(2026, 7, 14, 6, 12, 53, 353000, tzinfo=UTC)
HEADER = "timestamp, index, uuid, utilization.gpu [%], memory.used [MiB], power.draw [W]\n"
ROW = "2026/07/14 08:12:53.353, 0, GPU-1, 97 %, 19818 MiB, 631.95 W\n"


def one(text: str, clock: Clock | None = None) -> Batch:
    (batch,) = nvidia_csv.read(io.BytesIO(text.encode()), clock or Clock(timezone="Europe/Berlin"))
    assert batch.records == batch.stored + batch.rejects.height
    return batch


def fields(batch: Batch) -> dict[str, float]:
    joined = batch.rows["sample"].join(batch.rows["series"], on="series_no")
    named = joined.filter(pl.col("field").is_not_null())
    return dict(named.select("field", pl.col("value") * pl.col("times")).iter_rows())


def test_the_rows_have_the_declared_columns():
    rows = one(HEADER + ROW).rows
    assert (rows["series"].schema, rows["sample"].schema) == (SERIES, SAMPLE)


def test_a_row_is_one_record_and_gives_a_sample_for_each_number():
    batch = one(HEADER + ROW)
    assert (batch.records, batch.rows["sample"]["at"].to_list()) == (1, [AT] * 3)
    assert fields(batch) == {"gpu_util_ratio": 0.97, "fb_used_bytes": 19818 * 1048576, "power_w": 631.95}
    assert set(batch.rows["series"]["gpu"]) == {"GPU-1"}


def test_nounits_is_read_alike():
    plain = HEADER.replace(" [%]", "").replace(" [MiB]", "").replace(" [W]", "")
    row = ROW.replace(" %", "").replace(" MiB", "").replace(" W", "")
    assert fields(one(plain + row)) == fields(one(HEADER + ROW))


@pytest.mark.parametrize("cell", ["[N/A]", "[Not Supported]", "[GPU requires reset]", "ERR!", ""])
def test_a_cell_without_a_number_gives_no_sample(cell: str):
    assert "gpu_util_ratio" not in fields(one(HEADER + ROW.replace("97 %", cell)))


def test_a_row_without_a_number_is_a_reject():
    batch = one("uuid, timestamp, power.draw [W]\nGPU-1, 2026/07/14 08:12:53.353, [N/A]\n")
    assert (batch.records, batch.stored) == (1, 0)
    assert batch.rejects.select("line", "reason").rows() == [(2, "no number in it")]


def test_a_mask_is_a_number():
    text = (
        "uuid, timestamp, clocks_event_reasons.active\nGPU-1, 2026/07/14 08:12:53.353, 0x0000000000000044\n"
    )
    assert fields(one(text)) == {"throttle_reasons": 0x44}


def test_a_header_in_the_middle_begins_other_columns():
    batch = one(HEADER + ROW + "timestamp, uuid, temperature.gpu\n2026/07/14 08:12:54.000, GPU-1, 61\n")
    assert (batch.records, fields(batch)["gpu_temp_c"]) == (2, 61.0)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("2026/07/14 08:12", "not the 6 columns of the header"),
        (ROW.strip() + ", 1", "not the 6 columns of the header"),
        ("No devices were found", "not the 6 columns of the header"),
        (ROW.strip().replace("2026/", "26/"), "the timestamp is no local time: 26/07/14 08:12:53.353"),
    ],
)
def test_a_row_that_is_none_is_a_reject(row: str, reason: str):
    batch = one(HEADER + ROW + row + "\n")
    assert (batch.stored, batch.rejects.rows()) == (1, [(3, reason, row)])


def test_a_table_of_which_no_row_is_whole_and_none_says_whose_it_is_is_all_rejects():
    batch = one("power.draw [W], temperature.gpu\n5\n")
    assert (batch.stored, batch.rejects.height) == (0, 1)


def test_rows_without_a_timestamp_get_the_times_told():
    text = "index, utilization.gpu [%]\n0, 5 %\n1, 6 %\n0, 7 %\n1, 8 %\n"
    batch = one(text, Clock(AT, 0.5, source="--start"))
    later = AT + timedelta(seconds=0.5)
    assert batch.rows["sample"].sort("line")["at"].to_list() == [AT, AT, later, later]
    assert batch.clock == "--start"


def test_blocks_share_the_header(monkeypatch: pytest.MonkeyPatch):
    cut = blocks.blocks
    monkeypatch.setattr(blocks, "blocks", lambda stream: cut(stream, 128))
    batches = list(nvidia_csv.read(io.BytesIO((HEADER + ROW * 20).encode()), Clock()))
    assert (len(batches) > 3, sum(batch.stored for batch in batches)) == (True, 20)


def test_a_table_with_a_timestamp_and_nothing_of_a_gpu_is_not_taken_for_it(tmp_path: Path):
    (tmp_path / "a").write_text("timestamp,value\n2026-02-03 11:02:07,20.0\n")
    (tmp_path / "b").write_text(HEADER + ROW)
    formats = [found.format for found in survey([str(tmp_path)])]
    assert formats == ["unknown", "nvidia_smi_csv"]


def test_it_is_told_by_its_header(tmp_path: Path):
    (tmp_path / "a").write_text(HEADER + ROW)
    assert survey([str(tmp_path)])[0].format == "nvidia_smi_csv"


@pytest.mark.skipif(not NAMES, reason="the corpus is not beside this checkout")
@pytest.mark.parametrize("name", NAMES)
def test_every_row_of_the_captures_is_read(name: str):
    text = (CAPTURES / name).read_text()
    tables = re.findall(r"^# \$ nvidia-smi --query-gpu=.*\n#+\n((?:.+\n)+)", text, re.MULTILINE)
    assert tables
    for table in tables:
        batch = one(table)
        assert (batch.stored, batch.rejects.height) == (table.count("\n") - 1, 0)
        assert fields(batch).keys() >= {"gpu_temp_c", "sm_clock_mhz", "fb_used_bytes"}


# what nvidia_gpu_exporter makes of the same capture: its name -> ours, both in base units
EXPECTED = {
    "nvidia_smi_temperature_gpu": ("gpu_temp_c", 1),
    "nvidia_smi_memory_used_bytes": ("fb_used_bytes", 1),
    "nvidia_smi_utilization_gpu_ratio": ("gpu_util_ratio", 1),
    "nvidia_smi_utilization_memory_ratio": ("mem_copy_util_ratio", 1),
    "nvidia_smi_power_draw_watts": ("power_w", 1),
    "nvidia_smi_clocks_current_sm_clock_hz": ("sm_clock_mhz", 1e-6),
    "nvidia_smi_clocks_current_memory_clock_hz": ("mem_clock_mhz", 1e-6),
    "nvidia_smi_clocks_event_reasons_active": ("throttle_reasons", 1),
}


@pytest.mark.skipif(not NAMES, reason="the corpus is not beside this checkout")
@pytest.mark.parametrize("load", ["idle", "load"])
@pytest.mark.parametrize("name", NAMES)
def test_the_captures_mean_what_nvidia_gpu_exporter_makes_of_them(name: str, load: str):
    begins = rf"^# {load} :: query-gpu \(csv.*\n# \$ nvidia-smi --query-gpu=.*\n#+\n((?:.+\n)+)"
    table = re.search(begins, (CAPTURES / name).read_text(), re.MULTILINE)
    assert table
    text = (CAPTURES / "expected" / name.replace(".txt", f"__{load}.metrics")).read_text()
    written = re.findall(r"^(\w+)\{uuid=.*\} (\S+)$", text, re.MULTILINE)
    expected = {
        EXPECTED[metric][0]: pytest.approx(float(value) * EXPECTED[metric][1])
        for metric, value in written
        if metric in EXPECTED
    }
    found = fields(one(table[1]))
    assert {field: found.get(field) for field in expected} == expected

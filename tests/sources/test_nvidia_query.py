"""What nvidia-smi -q says, as text or XML, becomes series of each GPU."""

import io
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import polars as pl
import pytest

from tracemortem.sources import nvidia_query
from tracemortem.sources.batch import Batch
from tracemortem.sources.clock import Clock
from tracemortem.sources.find import survey

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "nvidia_smi"
XMLS = sorted(path.name for path in (CORPUS / "telegraf-xml").glob("*.xml"))
CAPTURES = sorted(path.name for path in (CORPUS / "nvidia_gpu_exporter").glob("*__*.txt"))
AT = datetime(2026, 4, 10, 8, 23, 1, tzinfo=UTC)
CLOCK = Clock(AT, None, "Europe/Berlin", "--start")
XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">
<nvidia_smi_log>
<timestamp>Fri Apr 10 10:23:01 2026</timestamp>
<gpu id="00000000:0C:00.0">
<uuid>GPU-1</uuid>
<pci><tx_util>359 KB/s</tx_util></pci>
<utilization><gpu_util>65 %</gpu_util><memory_util>N/A</memory_util></utilization>
<max_clocks><sm_clock>2100 MHz</sm_clock></max_clocks>
<clocks><sm_clock>1950 MHz</sm_clock></clocks>
</gpu>
</nvidia_smi_log>
"""
TEXT = """
==============NVSMI LOG==============

Timestamp                                              : Fri Apr 10 10:23:01 2026
Driver Version                                         : 590.48.01

Attached GPUs                                          : 1
GPU 00000000:0C:00.0
    GPU UUID                                           : GPU-1
    PCI
        Tx Throughput                                  : 359 KB/s
    Utilization
        GPU                                            : 65 %
        Memory                                         : N/A
    Clocks
        SM                                             : 1950 MHz
    Max Clocks
        SM                                             : 2100 MHz
"""
FIELDS = {"gpu_util_ratio": 0.65, "sm_clock_mhz": 1950.0, "pcie_tx_bytes_per_s": 359000.0}


def read(text: str, reader: Callable[[BinaryIO, Clock], Iterator[Batch]]) -> list[Batch]:
    batches = list(reader(io.BytesIO(text.encode()), CLOCK))
    assert all(batch.records == batch.stored + batch.rejects.height for batch in batches)
    assert sum(batch.bytes_read for batch in batches) == len(text.encode())
    return batches


def test_a_gpu_under_which_no_number_stands_is_a_reject():
    text = TEXT + "GPU 00000000:0D:00.0\n    GPU UUID : GPU-2\n    Utilization\n        GPU : N/A\n"
    (batch,) = [one for one in read(text, nvidia_query.read_text) if one.records]
    assert (batch.records, batch.stored) == (2, 1)
    assert batch.rejects.select("excerpt", "reason").rows() == [
        ("00000000:0D:00.0", "no number stands under this GPU")
    ]


def fields(batches: list[Batch]) -> dict[str, float]:
    series = pl.concat(batch.rows["series"] for batch in batches)
    joined = pl.concat(batch.rows["sample"] for batch in batches).join(series, on="series_no")
    named = joined.filter(pl.col("field").is_not_null())
    return {
        name: round(value, 6)
        for name, value in named.select("field", pl.col("value") * pl.col("times")).iter_rows()
    }


@pytest.mark.parametrize(
    ("text", "reader"), [(XML, nvidia_query.read_xml), (TEXT, nvidia_query.read_text)], ids=["xml", "text"]
)
def test_a_gpu_of_a_document_is_a_record_with_its_fields(text: str, reader):
    batches = read(text, reader)
    assert (sum(batch.stored for batch in batches), fields(batches)) == (1, FIELDS)
    assert set(pl.concat(batch.rows["sample"] for batch in batches)["at"]) == {AT}
    assert set(pl.concat(batch.rows["series"] for batch in batches)["gpu"].drop_nulls()) == {"GPU-1"}


@pytest.mark.parametrize(
    ("text", "reader"), [(XML, nvidia_query.read_xml), (TEXT, nvidia_query.read_text)], ids=["xml", "text"]
)
def test_documents_one_after_another_are_all_read(text: str, reader):
    assert sum(batch.stored for batch in read(text * 3, reader)) == 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            XML.replace('"nvsmi_device_v13.dtd"', '"x" [<!ENTITY a "b">]'),
            "it defines entities, or a DTD of its own, and is not read for safety",
        ),
        (XML.replace("</gpu>", ""), "no whole XML document: mismatched tag: line 11, column 2"),
        (XML.replace("nvidia_smi_log", "other"), None),
        (XML.replace("Fri Apr 10 10:23:01 2026", "N/A"), "the timestamp is no local time: N/A"),
    ],
)
def test_an_xml_document_that_cannot_be_read_is_one_reject(text: str, reason: str | None):
    rejects = pl.concat(batch.rejects for batch in read(text, nvidia_query.read_xml))
    assert rejects.height == 1
    assert reason is None or rejects["reason"].to_list() == [reason]


def test_a_document_without_a_time_gets_that_of_the_clock():
    batches = read(XML.replace("<timestamp>Fri Apr 10 10:23:01 2026</timestamp>", ""), nvidia_query.read_xml)
    assert set(pl.concat(batch.rows["sample"] for batch in batches)["at"]) == {AT}
    assert "--start" in {batch.clock for batch in batches}


def test_a_text_without_a_gpu_is_one_reject():
    text = TEXT[: TEXT.index("GPU 0000")]
    rejects = pl.concat(batch.rejects for batch in read(text, nvidia_query.read_text))
    assert rejects.select("line", "reason").rows() == [(2, "no GPU stands in it")]


@pytest.mark.parametrize(("text", "known"), [(XML, "nvidia_smi_xml"), (TEXT, "nvidia_smi_text")])
def test_each_is_told_by_its_content(tmp_path: Path, text: str, known: str):
    (tmp_path / "a").write_text(text)
    assert survey([str(tmp_path)])[0].format == known


@pytest.mark.skipif(not XMLS, reason="the corpus is not beside this checkout")
@pytest.mark.parametrize("name", XMLS)
def test_every_xml_of_the_corpus_is_read(name: str):
    text = (CORPUS / "telegraf-xml" / name).read_text()
    batches = read(text, nvidia_query.read_xml)
    assert sum(batch.stored for batch in batches) == text.count("<gpu id=")
    assert fields(batches).keys() >= {"gpu_temp_c", "fb_used_bytes"}


@pytest.mark.skipif(not CAPTURES, reason="the corpus is not beside this checkout")
@pytest.mark.parametrize("name", CAPTURES)
def test_every_text_of_the_captures_is_read(name: str):
    text = (CORPUS / "nvidia_gpu_exporter" / name).read_text()
    logs = re.findall(r"^=+NVSMI LOG=+\n(?:(?!####).*\n)+", text, re.MULTILINE)
    assert logs
    for log in logs:
        batches = read(log, nvidia_query.read_text)
        assert sum(batch.stored for batch in batches) == log.count("\nGPU 0000")
        assert fields(batches).keys() >= {"gpu_temp_c", "sm_clock_mhz", "fb_used_bytes"}


def test_a_line_of_many_blanks_costs_no_more_than_other_bytes():
    blank = f"    GPU{' ' * 1_000_000}UUID\n"  # hours, if each blank were tried with each
    text = TEXT.replace("    GPU UUID", f"{blank}    GPU UUID")
    assert sum(batch.stored for batch in read(text, nvidia_query.read_text)) == 1

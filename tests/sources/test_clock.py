"""Samples without a time get one that was told, or that the file's name or change tells, and it is said."""

import io
import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from tracemortem.sources import blocks, exposition
from tracemortem.sources.batch import Batch
from tracemortem.sources.clock import Clock, Told, clock
from tracemortem.sources.find import survey
from tracemortem.sources.registry import read
from tracemortem.sources.rounds import Rounds

AT = datetime(2026, 2, 3, 11, 2, 7, tzinfo=UTC)
TEXT = '# TYPE a gauge\na{x="1"} 1\na{x="2"} 2\n'


def scrapes(text: str, of: Clock) -> Batch:
    (batch,) = exposition.read(io.BytesIO(text.encode()), of)
    assert batch.records == batch.stored + batch.rejects.height
    return batch


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("dcgm-20260203T110207Z.prom", AT),
        ("dcgm_2026-02-03T11-02-07Z.txt", AT),
        ("dcgm_2026-02-03_12:02:07.txt", AT),
        ("20260203_120207", AT),
        ("m.2026-02-03T12:02.prom", AT.replace(second=0)),
        ("20260203T120207+0100.txt", AT),
        ("20260203T060207-0500.txt", AT),
        ("metrics-1770116527.txt", AT),
        ("metrics-1770116527250.txt", AT + timedelta(milliseconds=250)),
    ],
)
def test_a_time_in_the_name_is_the_time_of_the_first_scrape(tmp_path: Path, name: str, at: datetime):
    (tmp_path / name).write_text("")
    found = clock(tmp_path / name, Told(timezone="Europe/Berlin"))
    assert (found.first_at, found.source) == (at, "the time in the file's name")


@pytest.mark.parametrize("name", ["metrics.prom", "gpu-4090.txt", "20261303T110207.prom", "x-12345678901234"])
def test_a_name_without_a_time_leaves_the_last_change(tmp_path: Path, name: str):
    (tmp_path / name).write_text("")
    os.utime(tmp_path / name, (AT.timestamp(), AT.timestamp()))
    found = clock(tmp_path / name, Told())
    assert (found.first_at, found.last_at) == (None, AT)
    assert found.source == "the time of the file's last change"


def test_what_is_told_goes_before_the_name(tmp_path: Path):
    path = tmp_path / "20200101T000000Z"
    path.write_text("")
    assert clock(path, Told(AT, 15.0)) == Clock(AT, 15.0, "UTC", "--start")


def test_each_repetition_of_a_series_is_the_next_scrape():
    batch = scrapes(TEXT * 2, Clock(AT, 15.0, source="--start"))
    assert batch.rows["sample"]["at"].to_list() == [AT, AT, *[AT + timedelta(seconds=15)] * 2]
    assert batch.clock == "--start"


def test_scrapes_beyond_the_first_are_rejects_where_nobody_says_how_far_apart_they_are():
    batch = scrapes(TEXT * 2, Clock(AT))
    reason = "no timestamp, and this is scrape 2 of the file: give --start and --every"
    assert (batch.stored, batch.rejects["reason"].to_list()) == (2, [reason] * 2)


def test_from_the_last_scrape_times_are_counted_back():
    batch = scrapes(TEXT * 3, Clock(None, 15.0, last_at=AT, rounds=lambda: 3))
    assert batch.rows["sample"]["at"].to_list()[::2] == [AT - timedelta(seconds=s) for s in (30, 15, 0)]


def test_scrapes_before_the_last_are_rejects_where_nobody_says_how_far_apart_they_are():
    batch = scrapes(TEXT * 3, Clock(last_at=AT, rounds=lambda: 3))
    assert batch.rows["sample"].select("line", "at").rows() == [(8, AT), (9, AT)]
    assert batch.rejects.select("line", "reason").rows() == [
        (
            line,
            f"no timestamp, and this is scrape {which} of the file, not its last: give --start and --every",
        )
        for line, which in ((2, 1), (3, 1), (5, 2), (6, 2))
    ]


def test_a_file_is_not_read_for_its_scrapes_where_none_needs_it():
    def never() -> int:
        raise AssertionError

    batch = scrapes("a 1 1770116527000\n", Clock(None, 1.0, last_at=AT, rounds=never))
    assert batch.rows["sample"]["at"].to_list() == [AT]


XML = "<nvidia_smi_log><gpu id='0'><fan_speed>60 %</fan_speed></gpu></nvidia_smi_log>\n"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (TEXT, "scrape"),
        ("#Entity   POWER\nID          W\nGPU 0   300.000\n", "tick"),
        ("# gpu   pwr\n# Idx     W\n    0   300\n", "tick"),
        ("utilization.gpu [%], power.draw [W]\n12 %, 300.00 W\n", "tick"),
        ("Tcp:\n    5 segments received\n    7 segments retransmitted\n", "snapshot"),
        (XML, "document"),
    ],
)
def test_every_reader_of_samples_without_times_counts_back_from_the_last_change(
    tmp_path: Path, text: str, what: str
):
    (tmp_path / "a").write_text(text * 3)
    os.utime(tmp_path / "a", (AT.timestamp(), AT.timestamp()))
    (found,) = survey([str(tmp_path)])
    told = {at for batch in read(found, Told(every_s=15)) for at in batch.rows["sample"]["at"]}
    assert told == {AT - timedelta(seconds=seconds) for seconds in (30, 15, 0)}
    batches = list(read(found))
    assert {at for batch in batches for at in batch.rows["sample"]["at"]} == {AT}
    assert {reason for batch in batches for reason in batch.rejects["reason"]} == {
        f"no timestamp, and this is {what} {which} of the file, not its last: give --start and --every"
        for which in (1, 2)
    }


def test_requests_counted_from_a_beginning_end_with_the_last_change(tmp_path: Path):
    line = '{"timestamp": %d, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]}\n'
    (tmp_path / "a").write_text("".join(line % at for at in (0, 3000, 27000)))
    os.utime(tmp_path / "a", (AT.timestamp(), AT.timestamp()))
    (found,) = survey([str(tmp_path)])
    (batch,) = read(found)
    assert batch.rows["access"]["started_at"].to_list() == [AT - timedelta(seconds=s) for s in (27, 24, 0)]
    assert batch.clock == "the time of the file's last change"


def test_a_sample_with_a_timestamp_keeps_it_and_no_clock_is_named():
    batch = scrapes("a 1 1770116527000\n", Clock(AT + timedelta(days=1), 1.0, source="--start"))
    assert (batch.rows["sample"]["at"].to_list(), batch.clock) == ([AT], "")


def test_scrapes_are_counted_across_blocks(monkeypatch: pytest.MonkeyPatch):
    cut = blocks.blocks
    monkeypatch.setattr(blocks, "blocks", lambda stream: cut(stream, 16))
    batches = list(exposition.read(io.BytesIO(b"a 1\nb 1\nc 1\n" * 20), Clock(AT, 1.0)))
    times = [at for batch in batches for at in batch.rows["sample"]["at"]]
    assert times == [AT + timedelta(seconds=number // 3) for number in range(60)]


def test_rounds_are_those_that_plain_python_counts():
    dice = random.Random(7)
    whole = [dice.randrange(6) for _ in range(500)]
    expected, seen, number = [], set[int](), 0
    for what in whole:
        if what in seen:
            seen, number = set(), number + 1
        seen.add(what)
        expected.append(number)
    rounds = Rounds()
    parts = [rounds.number(pl.Series(whole[begin : begin + 37])) for begin in range(0, 500, 37)]
    assert pl.concat(parts).to_list() == expected


def test_a_file_of_one_scrape_is_read_with_the_time_of_its_last_change(tmp_path: Path):
    (tmp_path / "a").write_text(TEXT)
    os.utime(tmp_path / "a", (AT.timestamp(), AT.timestamp()))
    (found,) = survey([str(tmp_path)])
    (batch,) = read(found)
    assert batch.rows["sample"]["at"].to_list() == [AT, AT]


def test_local_times_are_read_in_the_zone_told():
    frame = pl.DataFrame({"text": ["2026/07/14 08:12:53.353", "2026/03/29 02:30:00.000", "x"]})
    read_as = Clock(timezone="Europe/Berlin").local(pl.col("text"), "%Y/%m/%d %H:%M:%S%.f")
    assert frame.select(read_as).to_series().to_list() == [
        datetime(2026, 7, 14, 6, 12, 53, 353000, tzinfo=UTC),
        None,  # an hour that was skipped
        None,
    ]

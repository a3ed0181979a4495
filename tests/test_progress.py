"""What a person and a program see of long work."""

import io
import json
import re

import pytest
from rich.console import Console

from tracemortem.progress import Bars, Lines, stage, told_to


def screen_of(width: int) -> tuple[Bars, io.StringIO]:
    """Bars on a terminal so many columns wide, and what is sent to it."""
    sent = io.StringIO()
    return Bars(Console(file=sent, force_terminal=True, width=width, color_system=None)), sent


def lines_of(sent: io.StringIO) -> list[str]:
    """What stands on the terminal in the end: a line is drawn again from its beginning."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sent.getvalue())
    return [line.split("\r")[-1].rstrip() for line in plain.split("\n")[:-1]]


def test_a_bar_shows_bytes_and_rows_and_how_fast_both_come():
    listener, sent = screen_of(140)
    with told_to(listener), stage("spans.jsonl.gz") as told:
        told.advance(2_000_000, 5_000)
    [line] = lines_of(sent)
    assert re.fullmatch(r"spans\.jsonl\.gz +━+ +2\.0 MB  [\d.]+ [kMG]?B/s +5,000 rows  [\d,]+ rows/s", line)


def test_a_bar_fits_a_terminal_of_80_columns():
    listener, sent = screen_of(80)
    with told_to(listener), stage("a/long/path/to/vllm/metrics.prom.gz") as told:
        listener.began -= 86_400  # a day ago
        told.advance(46_800_000_000, 210_600_000)
    [line] = lines_of(sent)
    assert line.startswith("…/vllm/metrics.prom.gz ")
    assert line.endswith(" 46.8 GB  541.7 kB/s 210,600,000 rows  2,437 rows/s")
    assert len(line) <= 80


def test_each_stage_has_one_line_however_many_there_are():
    listener, sent = screen_of(100)
    with told_to(listener):
        for label in ("spans.jsonl", "tables", "report"):
            with stage(label) as told:
                told.advance(10, 1)
    assert [line.split()[0] for line in lines_of(sent)] == ["spans.jsonl", "tables", "report"]


def test_a_stage_that_counts_no_rows_shows_none():
    listener, sent = screen_of(100)
    with told_to(listener), stage("publishing"):
        pass
    assert "rows" not in sent.getvalue()


def test_lines_say_what_began_and_what_was_done(capsys: pytest.CaptureFixture[str]):
    with told_to(Lines()), stage("access.log", 90) as told:
        told.advance(40, 3)
        told.advance(50, 4)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"event": "begin", "label": "access.log", "total_bytes": 90},
        {"event": "end", "label": "access.log", "bytes": 90, "rows": 7},
    ]


def test_nobody_is_told_where_nobody_listens(capsys: pytest.CaptureFixture[str]):
    with stage("access.log") as told:
        told.advance(40, 3)
    assert capsys.readouterr() == ("", "")

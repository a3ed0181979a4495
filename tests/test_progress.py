"""What a person and a program see of long work."""

import io
import json

import pytest
from rich.console import Console

from tracemortem.progress import Bars, Lines, stage, told_to


@pytest.fixture
def bars() -> tuple[Bars, io.StringIO]:
    screen = io.StringIO()
    shown = Bars()
    shown.bars.live.console = Console(file=screen, force_terminal=True, width=140)
    return shown, screen


def test_a_bar_shows_bytes_and_rows_and_how_fast_both_come(bars: tuple[Bars, io.StringIO]):
    listener, screen = bars
    with told_to(listener), stage("spans.jsonl.gz") as told:
        told.advance(2_000_000, 5_000)
    last = screen.getvalue()
    assert "spans.jsonl.gz" in last
    assert "2.0 MB" in last
    assert "B/s" in last
    assert "5,000 rows" in last
    assert "rows/s" in last


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

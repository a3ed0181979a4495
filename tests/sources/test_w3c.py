"""A W3C extended log is read by its own #Fields, in whatever order they stand."""

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tracemortem.sources import blocks, w3c
from tracemortem.sources.clock import Clock
from tracemortem.sources.find import survey

IIS = (
    "#Software: Microsoft Internet Information Services 10.0\r\n#Version: 1.0\r\n"
    "#Date: 2026-02-03 11:00:00\r\n"
    "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port c-ip cs(User-Agent) sc-status"
    " sc-bytes time-taken\r\n"
)
LINE = "2026-02-03 11:02:11 10.0.0.1 POST /v1/completions a=1 443 203.0.113.9 curl/8.5.0 200 703 4210\r\n"
CLOUDFRONT = (
    "#Version: 1.0\n#Fields: sc-status date time c-ip cs(User-Agent) x-edge-request-id time-taken"
    " x-forwarded-for time-to-first-byte\n"
    "200\t2026-02-03\t11:02:11\t203.0.113.9\tcurl/8.5.0%20(x)\t375WZ\t4.210\t198.51.100.7,%2010.0.0.9\t0.380\n"
)


def read(text: str, zone: str = "UTC") -> tuple[list[dict[str, Any]], list[tuple[int, str]]]:
    """What is known of each row; line and reason of each reject."""
    batches = list(w3c.read(io.BytesIO(text.encode()), Clock(timezone=zone)))
    assert all(batch.records == batch.stored + batch.rejects.height for batch in batches)
    rows = pl.concat([batch.rows["access"] for batch in batches]).to_dicts()
    rejects = pl.concat([batch.rejects for batch in batches]).select("line", "reason").rows()
    return [{name: value for name, value in row.items() if value is not None} for row in rows], rejects


def at(*time: int) -> datetime:
    return datetime(2026, 2, 3, *time, tzinfo=UTC)


def test_iis_writes_the_end_in_utc_and_milliseconds():
    assert read(IIS + LINE) == (
        [
            {
                "line": 5,
                "started_at": at(11, 2, 6, 790000),
                "finished_at": at(11, 2, 11),
                "duration_s": 4.21,
                "peer_address": "203.0.113.9",
                "method": "POST",
                "path": "/v1/completions",
                "status": 200,
                "bytes_sent": 703,
                "user_agent": "curl/8.5.0",
            }
        ],
        [],
    )


def test_cloudfront_writes_seconds_and_percent_signs():
    assert read(CLOUDFRONT)[0] == [
        {
            "line": 3,
            "started_at": at(11, 2, 6, 790000),
            "finished_at": at(11, 2, 11),
            "duration_s": 4.21,
            "ttft_s": 0.38,
            "peer_address": "203.0.113.9",
            "forwarded_for": "198.51.100.7, 10.0.0.9",
            "status": 200,
            "user_agent": "curl/8.5.0 (x)",
            "request_id": "375WZ",
        }
    ]


def test_the_time_taken_is_not_known_where_its_unit_is_not():
    rows, _ = read("#Software: another\n#Fields: date time time-taken\n2026-02-03 11:02:11 370879\n")
    assert rows == [{"line": 3, "finished_at": at(11, 2, 11)}]


def test_fields_may_change_within_a_file_and_between_blocks(monkeypatch: pytest.MonkeyPatch):
    text = IIS + LINE * 3 + "#Fields: date time sc-status\n" + "2026-02-03 11:02:12 503\n" * 3
    whole = read(text)
    assert [row["status"] for row in whole[0]] == [200] * 3 + [503] * 3
    cut = blocks.blocks
    monkeypatch.setattr(blocks, "blocks", lambda stream: cut(stream, 128))
    assert read(text) == whole


def test_a_line_that_has_other_fields_is_a_reject():
    rows, rejects = read(IIS + LINE + "2026-02-03 11:02:11 10.0.0.1 POST\n" + LINE)
    assert ([row["line"] for row in rows], rejects) == ([5, 7], [(6, "no line of w3c_extended")])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#Fields: c-ip sc-status\n10.0.0.1 200\n", "no date and time in #Fields"),
        ("2026-02-03 11:02:11 200\n", "no #Fields above it"),
    ],
)
def test_lines_without_a_time_or_without_fields_are_rejects(text: str, reason: str):
    assert read(text) == ([], [(text.count("\n"), reason)])


def test_the_day_of_lines_that_carry_only_a_time_is_that_of_the_file():
    rows, _ = read("#Date: 2026-02-03 11:00:00\n#Fields: c-ip time sc-status\n203.0.113.9 11:02:11 200\n")
    assert rows == [{"line": 3, "finished_at": at(11, 2, 11), "peer_address": "203.0.113.9", "status": 200}]


def test_a_local_time_is_of_the_zone_that_is_told():
    text = "#Fields: date-local time-local sc-status\n2026-02-03 12:02:11.5 200\n"
    assert read(text, "Europe/Berlin")[0][0]["finished_at"] == at(11, 2, 11, 500000)


def test_values_in_quotes_may_hold_blanks():
    text = '#Fields: date time cs(User-Agent) c-ip\n"2026-02-03" "11:02:11" "a b" "203.0.113.9"\n'
    assert read(text)[0] == [
        {"line": 2, "finished_at": at(11, 2, 11), "user_agent": "a b", "peer_address": "203.0.113.9"}
    ]


def test_it_is_told_by_its_fields(tmp_path: Path):
    (tmp_path / "a").write_text(IIS + LINE)
    (tmp_path / "b").write_text("#separator \\x09\n#fields\tts\tuid\n1\t2\n")
    assert [found.format for found in survey([str(tmp_path)])] == ["w3c_extended", "zeek_log"]

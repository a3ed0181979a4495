"""Access-log lines are rows or rejects, numbered through the file, whatever the blocks."""

import io
from datetime import UTC, datetime

import pytest

from tracemortem.sources import blocks
from tracemortem.sources.clock import Clock
from tracemortem.sources.declared_formats import formats
from tracemortem.sources.lines import TextFormat, read
from tracemortem.sources.log_format import Directive, compiled
from tracemortem.sources.records import record


def form() -> TextFormat:
    found = compiled(Directive("x", "default", "$status $msec"))
    assert isinstance(found, TextFormat)
    return found


def test_a_time_beyond_all_reason_is_a_reject_and_costs_nothing_else():
    (alb,) = [one for one in formats() if one.name == "aws_alb"]
    line = (
        "https 2026-02-03T11:02:11.865000Z app/llm/490d 203.0.113.9:44740 10.1.0.4:8000 0.010 "
        f'{"7" * 40} 3.510 200 200 811 5120 "POST https://llm.example:443/v1 HTTP/1.1" "a" - - - "-" "-" "-" '
        '1 2026-02-03T11:02:07.655000Z "forward" "-" "-" "10.1.0.4:8000" "200" "-" "-" TID_9\n'
    )
    (batch,) = read(io.BytesIO((line + line.replace("7" * 40, "0.690")).encode()), alb)
    assert batch.rejects["reason"].to_list() == [f"answer gives no ttft_s: {'7' * 40}"]
    assert batch.rows["access"]["duration_s"].to_list() == [4.21]


def test_the_rows_have_the_declared_columns_in_order():
    (batch,) = read(io.BytesIO(b"200 1770116527.000\n"), form())
    columns = {name: column.dtype for name, column in record("access").items()}
    assert dict(batch.rows["access"].drop("line").schema) == columns


def test_lines_and_rejects_are_numbered_through_the_file(monkeypatch: pytest.MonkeyPatch):
    cut = blocks.blocks
    monkeypatch.setattr(blocks, "blocks", lambda stream: cut(stream, 32))
    text = b"200 1770116527.000\n\njunk\n\xef\xbf\xbd\xff\r\n" * 5 + b"404 1770116527.000"
    batches = list(read(io.BytesIO(text), form()))
    assert len(batches) > 3
    assert [line for batch in batches for line in batch.rows["access"]["line"]] == [1, 5, 9, 13, 17, 21]
    assert [line for batch in batches for line in batch.rejects["line"]] == [
        3,
        4,
        7,
        8,
        11,
        12,
        15,
        16,
        19,
        20,
    ]
    assert [(batch.records, batch.stored) for batch in batches] == [
        (batch.stored + batch.rejects.height, batch.rows["access"].height) for batch in batches
    ]


def test_blank_lines_are_neither_rows_nor_rejects():
    (batch,) = read(io.BytesIO(b"\n  \r\n200 1770116527.000\n"), form())
    assert (batch.records, batch.stored, batch.bytes_read) == (1, 1, 24)


def test_a_line_too_long_is_one_reject(monkeypatch: pytest.MonkeyPatch):
    cut = blocks.blocks
    monkeypatch.setattr(blocks, "blocks", lambda stream: cut(stream, 32, 64))
    batches = list(read(io.BytesIO(b"200 1770116527.000\n" + b"x" * 100 + b"\n200 1770116527.000\n"), form()))
    assert [(batch.records, batch.stored, batch.rejects["line"].to_list()) for batch in batches] == [
        (1, 1, []),
        (1, 0, [2]),
        (1, 1, []),
    ]


def test_crlf_is_no_part_of_the_line():
    (batch,) = read(io.BytesIO(b"200 1770116527.000\r\n"), form())
    assert batch.stored == 1


def test_an_excerpt_is_at_most_200_characters():
    (batch,) = read(io.BytesIO(b"y" * 500), form())
    assert batch.rejects["excerpt"].to_list() == ["y" * 200]


def test_a_time_without_a_zone_is_that_of_the_clock_and_a_skipped_hour_is_a_reject():
    haproxy = next(one for one in formats() if one.name == "haproxy_http")
    line = (
        "203.0.113.9:1 [{}/Mar/2026:02:30:00.000] in a/b 0/0/0/3/4 200 7 - - ---- 1/1/1/1/0 0/0 "
        '"GET / HTTP/1.1"\n'
    )
    text = (line.format("03") + line.format("08")).encode()
    (batch,) = read(io.BytesIO(text), haproxy, Clock(timezone="America/New_York"))
    assert batch.rows["access"]["started_at"].to_list() == [datetime(2026, 3, 3, 7, 30, tzinfo=UTC)]
    assert batch.rejects["reason"].to_list() == ["accept gives no started_at: 08/Mar/2026:02:30:00.000"]


def test_times_counted_from_a_start_need_one():
    trace = next(one for one in formats() if one.name == "mooncake_trace")
    text = b'{"timestamp": 655, "input_length": 3, "output_length": 5, "hash_ids": [0]}\n'
    (without,) = read(io.BytesIO(text), trace)
    (told,) = read(io.BytesIO(text), trace, Clock(datetime(2026, 2, 3, tzinfo=UTC), source="--start"))
    assert without.rejects["reason"].to_list() == ["timestamp gives no started_at: 655"]
    assert (told.stored, told.clock) == (1, "--start")


def test_a_hash_that_is_no_number_is_a_reject_of_its_line():
    [mooncake] = [one for one in formats() if one.name == "mooncake_trace"]
    line = '{"timestamp": %d, "input_length": 3, "output_length": 5, "hash_ids": [0, %s]}\n'
    text = (line % (1, 7) + line % (2, '"x"') + line % (3, -1)).encode()
    clock = Clock(first_at=datetime(2026, 2, 3, tzinfo=UTC))
    (batch,) = read(io.BytesIO(text), mooncake, clock)
    assert batch.rows["access"].select("line", "block_hashes", "block_size_tokens").rows() == [
        (1, [0, 7], 512)
    ]
    assert batch.rejects.select("line", "reason").rows() == [
        (2, "hash_ids.* gives no block_hashes: 0,x"),
        (3, "hash_ids.* gives no block_hashes: 0,-1"),
    ]

"""What stands around the lines of a log is peeled off, and the lines keep their numbers."""

import io
import json
from datetime import UTC, datetime

import polars as pl
import pytest

from tracemortem.sources import blocks
from tracemortem.sources.declared_formats import formats
from tracemortem.sources.lines import read
from tracemortem.sources.wrapped import layers

ACCESS = '203.0.113.9 - - [03/Feb/2026:12:02:07 +0100] "GET /%s HTTP/1.1" 200 12 "-" "curl"'
FORMS = {form.name: form for form in formats()}


def paths(text: str, form: str = "nginx_combined") -> list[tuple[int, str]]:
    """Line and path of each row; records are stored or rejected, whatever the text."""
    found: list[tuple[int, str]] = []
    for batch in read(io.BytesIO(text.encode()), FORMS[form]):
        assert batch.records == batch.stored + batch.rejects.height
        assert batch.stored == batch.rows["access"].height
        found += batch.rows["access"].select("line", "path").rows()
    return found


def docker(log: str) -> str:
    return json.dumps(
        {"log": log, "stream": "stdout", "time": "2026-02-03T11:02:09.5Z"}, separators=(",", ":")
    )


@pytest.mark.parametrize(
    "before",
    [
        "2026-02-03T12:02:07.1+01:00 stdout F ",
        "gateway-1  | ",
        "gateway-1  | 2026-02-03T11:02:07.584725130Z ",
        "[pod/gateway-7f/nginx] ",
        "2026-02-03T11:02:07+0000 lb nginx[7]: ",
        "<190>Feb  3 11:02:07 lb nginx: ",
        "<190>1 2026-02-03T11:02:07Z lb nginx 7 - - ",
        "\x1b[36mgateway-1  |\x1b[0m ",
        "\ufeff",
        "\0\0\0",
    ],
)
def test_what_stands_before_a_line_is_taken_off(before: str):
    text = "".join(f"{before}{ACCESS % number}\r\n" for number in range(3))
    assert paths(text) == [(1, "/0"), (2, "/1"), (3, "/2")]


def test_plain_lines_have_nothing_around_them():
    assert layers(pl.Series([ACCESS % 1, ACCESS % 2])) == ()


def test_pieces_of_a_line_in_docker_json_are_joined_and_have_the_number_of_the_first():
    line = ACCESS % "long"
    text = "\n".join([docker(f"{ACCESS % 'a'}\n"), docker(line[:40]), docker(f"{line[40:]}\n"), ""])
    assert paths(text) == [(1, "/a"), (2, "/long")]


def test_pieces_are_joined_per_stream_and_across_blocks(monkeypatch: pytest.MonkeyPatch):
    cut = blocks.blocks
    monkeypatch.setattr(blocks, "blocks", lambda stream: cut(stream, 64))
    line, stamp = ACCESS % "long", "2026-02-03T12:02:07+01:00"
    text = (
        f"{stamp} stdout F {ACCESS % 'a'}\n{stamp} stdout P {line[:30]}\n{stamp} stderr F {ACCESS % 'e'}\n"
        f"{stamp} stdout P {line[30:50]}\n{stamp} stdout F {line[50:]}\n{stamp} stdout P {ACCESS % 'last'}"
    )
    assert sorted(paths(text)) == [(1, "/a"), (2, "/long"), (3, "/e"), (6, "/last")]


def test_a_line_without_a_time_of_its_own_has_that_of_what_is_around_it():
    text = docker('INFO:     172.18.0.1:47402 - "POST /v1/completions HTTP/1.1" 200 OK\n')
    (batch,) = read(io.BytesIO(text.encode()), FORMS["uvicorn"])
    assert batch.rows["access"]["finished_at"].to_list() == [
        datetime(2026, 2, 3, 11, 2, 9, 500000, tzinfo=UTC)
    ]


def test_a_line_without_any_time_is_a_reject():
    line = b'INFO:     172.18.0.1:47402 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    (batch,) = read(io.BytesIO(line), FORMS["uvicorn"])
    assert batch.rejects.rows() == [(1, "no time", line.decode().strip())]

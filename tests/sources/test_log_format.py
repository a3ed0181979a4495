"""Any log_format directive becomes a format: what it names is read, what it does not name is matched."""

import re
from datetime import UTC, datetime

import duckdb
import polars as pl
import pytest

from tracemortem.sources.lines import TextFormat, parse
from tracemortem.sources.log_format import Directive, compiled, directives

TIME = "03/Feb/2026:12:02:07 +0100"
AT = datetime(2026, 2, 3, 11, 2, 7, tzinfo=UTC)


def form(body: str) -> TextFormat:
    found = compiled(Directive("x", "default", body))
    assert isinstance(found, TextFormat)
    return found


def frame(*texts: str) -> pl.DataFrame:
    return pl.DataFrame(
        {"line": range(1, len(texts) + 1), "text": texts}, schema={"line": pl.UInt64, "text": pl.String}
    )


def row(body: str, line: str) -> dict[str, object]:
    """What one line gives: the columns that are known."""
    rows, rejects = parse(frame(line), form(body))
    assert rejects.rows() == []
    return {name: value for name, value in rows.drop("line").row(0, named=True).items() if value is not None}


def test_quotes_are_joined_and_comments_and_other_directives_passed_over():
    text = """
    http { # log_format old '$status';
        include "mime.types";
        log_format llm escape=none '$remote_addr '
                   "\\"$request\\" " $status
                   '\\'${request_time}\\'';
        server { access_log /var/log/x llm; }
        log_format two '$msec';
    }"""
    assert directives(text) == [
        Directive("llm", "none", "$remote_addr \"$request\" $status'${request_time}'"),
        Directive("two", "default", "$msec"),
    ]


def test_a_directive_without_its_end_is_none():
    assert directives("log_format llm '$status'") == []


def test_json_is_read_by_its_directive_even_where_a_missing_number_breaks_it():
    form = compiled(Directive("j", "json", '{"t":"$msec","up":$upstream_response_time,"id":"$request_id"}'))
    assert isinstance(form, TextFormat)
    lines = pl.DataFrame(
        {
            "line": [1, 2],
            "text": [
                '{"t":"1770116527.5","up":,"id":""}',
                '{"t":"1770116527.5","up":0.1, 0.2,"id":"\\"7\\u0009"}',
            ],
        },
        schema={"line": pl.UInt64, "text": pl.String},
    )
    rows, rejects = parse(lines, form)
    assert rejects.height == 0
    assert rows.select("upstream_s", "request_id").rows() == [(None, None), (0.3, '"7\t')]


def test_a_directive_without_a_time_is_refused_with_a_sentence():
    found = compiled(Directive("x", "default", "$status"))
    assert found == "log_format x writes no time: add $msec or $time_iso8601"


def test_the_line_is_written_at_the_end_and_the_start_lies_its_duration_before():
    found = row("[$time_local] rt=$request_time", f"[{TIME}] rt=4.210")
    assert found == {
        "started_at": datetime(2026, 2, 3, 11, 2, 2, 790000, UTC),
        "finished_at": AT,
        "duration_s": 4.21,
    }


def test_without_a_duration_the_start_is_not_known():
    assert row("[$time_local]", f"[{TIME}]") == {"finished_at": AT}


def test_msec_is_preferred_to_the_time_in_whole_seconds():
    found = row("[$time_local] $msec", f"[{TIME}] 1770116527.123")
    assert found == {"finished_at": datetime(2026, 2, 3, 11, 2, 7, 123000, UTC)}


def test_iso_time_is_read_with_its_zone():
    assert row("$time_iso8601", "2026-02-03T12:02:07+01:00") == {"finished_at": AT}


@pytest.mark.parametrize(
    ("written", "upstream_s", "attempts"),
    [
        ("0.100", 0.1, 1),
        ("0.1, 0.2 : 0.3", 0.6, 3),
        ("0.100, -", 0.1, 2),
        ("-", None, None),
        ("-, -", None, 2),
    ],
)
def test_upstream_times_are_summed_over_attempts(
    written: str, upstream_s: float | None, attempts: int | None
):
    found = row('$msec "$upstream_response_time"', f'1770116527.000 "{written}"')
    assert (found.get("upstream_s"), found.get("upstream_attempts")) == (upstream_s, attempts)


def test_the_upstream_tried_last_is_the_address_and_all_are_counted():
    found = row("$msec $upstream_addr", "1770116527.000 10.0.0.1:80, unix:/run/a : [2001:db8::7]:5000")
    assert found == {"finished_at": AT, "upstream_address": "[2001:db8::7]:5000", "upstream_attempts": 3}


def test_lists_without_quotes_do_not_run_into_each_other():
    found = row(
        "$msec $upstream_addr $upstream_response_time $upstream_status",
        "1770116527.000 a:1, b:2 0.1, 0.2 502, 200",
    )
    assert (found["upstream_address"], found["upstream_s"], found["upstream_attempts"]) == ("b:2", 0.3, 2)


def test_the_upstreams_header_time_is_the_time_to_first_token():
    assert row("$msec $upstream_header_time", "1770116527.000 0.100, 0.250")["ttft_s"] == 0.35


@pytest.mark.parametrize(
    ("request_line", "method", "path"),
    [
        ("POST /v1/completions?a=1 HTTP/1.1", "POST", "/v1/completions"),
        ("GET http://gate.example:80/x?y HTTP/1.1", "GET", "/x"),
        ("GET /old", "GET", "/old"),
        ("GET /with blank HTTP/1.1", "GET", "/with blank"),
        (r"GET /caf\xC3\xA9 HTTP/1.1", "GET", "/café"),
        (r"\x16\x03\x01\x02", None, None),
        ("", None, None),
        ("-", None, None),
    ],
)
def test_a_request_line_gives_method_and_path_without_query(request_line: str, method: str, path: str):
    found = row('$msec "$request"', f'1770116527.000 "{request_line}"')
    assert (found.get("method"), found.get("path")) == (method, path)


@pytest.mark.parametrize("written", [r"say \x22hi\x22 \x5Co/", r"say \"hi\" \\o/"])
def test_quotes_inside_a_quoted_field_do_not_end_it_and_are_unescaped(written: str):
    found = row('"$http_user_agent" $msec', f'"{written}" 1770116527.000')
    assert found["user_agent"] == 'say "hi" \\o/'


def test_the_trace_is_taken_out_of_traceparent():
    header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert (
        row('$msec "$http_traceparent"', f'1770116527.000 "{header}"')["trace_id"]
        == "0af7651916cd43dd8448eb211c80319c"
    )


def test_a_trace_id_of_zeros_is_none():
    assert row("$msec $otel_trace_id", f"1770116527.000 {'0' * 32}") == {"finished_at": AT}


def test_a_variable_that_means_nothing_to_us_is_matched_and_left_out():
    assert row('$msec "$my_tier" [$zone x]', '1770116527.000 "gold plus" [eu west x]') == {"finished_at": AT}


def test_a_variable_that_stands_twice_is_taken_once():
    assert row("$status $msec $status", "200 1770116527.000 200") == {"finished_at": AT, "status": 200}


def test_variables_run_together_are_left_out_since_their_border_cannot_be_told():
    assert row("$msec $my_a$http_x_real_ip", "1770116527.000 gold198.51.100.7") == {"finished_at": AT}


def test_a_host_and_a_path_with_nothing_between_are_told_apart():
    found = row("$msec $scheme://$host$request_uri", "1770116527.000 https://llm.example.org/v1?x=1")
    assert (found["host_header"], found["path"]) == ("llm.example.org", "/v1")


def test_characters_with_a_meaning_in_patterns_stand_for_themselves():
    assert row("$msec (a|b)* $status. {x}^", "1770116527.000 (a|b)* 200. {x}^")["status"] == 200


def test_token_counts_of_zero_are_not_known():
    found = row("$msec $llm_prompt_tokens $llm_completion_tokens", "1770116527.000 812 0")
    assert found == {"finished_at": AT, "prompt_tokens": 812}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("200 1770116527.000 more", "no line of nginx:x"),
        ("200 1770116527.00", None),
        ("", None),
        ("200 17701165271770116527.000", "msec gives no finished_at: 17701165271770116527.000"),
    ],
)
def test_a_line_is_a_whole_row_or_a_reject(line: str, reason: str | None):
    _, rejects = parse(frame(line), form("$status $msec"))
    assert rejects["reason"].to_list() == ([reason] if reason else [])


def test_a_status_that_is_none_is_a_reject_with_its_line_number():
    rows, rejects = parse(frame("200 1770116527.000", "99999 1770116527.000"), form("$status $msec"))
    assert (rows.height, rejects.rows()) == (
        1,
        [(2, "status gives no status: 99999", "99999 1770116527.000")],
    )


def test_a_duration_that_is_none_is_a_reject():
    _, rejects = parse(frame("1770116527.000 9999999999999999999999.0"), form("$msec $request_time"))
    assert rejects["reason"].to_list() == ["request_time gives no duration_s: 9999999999999999999999.0"]


def test_a_duration_that_reaches_back_out_of_all_reason_is_a_reject():
    _, rejects = parse(frame("1770116527.000 99999999999.0"), form("$msec $request_time"))
    assert rejects["reason"].to_list() == ["the time is out of all reason"]


@pytest.mark.parametrize("year", ["0000", "1969", "2201", "9999"])
def test_a_time_out_of_all_reason_is_a_reject(year: str):
    _, rejects = parse(frame(f"[03/Feb/{year}:12:02:07 +0100]"), form("[$time_local]"))
    assert rejects["reason"].to_list() == ["the time is out of all reason"]


def test_a_date_that_is_none_is_a_reject():
    _, rejects = parse(frame("[31/Feb/2026:12:02:07 +0100]"), form("[$time_local]"))
    assert rejects["reason"].to_list() == ["time_local gives no finished_at: 31/Feb/2026:12:02:07 +0100"]


@pytest.mark.parametrize(
    "body",
    [
        '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_user_agent"',
        '$msec $upstream_addr "$upstream_response_time" [$proxy] "$my_a $my_b" $host$request_uri',
    ],
)
def test_patterns_are_taken_by_re2_and_by_python_too(body: str):
    pattern = form(body).pattern
    assert duckdb.sql("select regexp_matches('x', $pattern)", params={"pattern": pattern}).fetchall() == [
        (False,)
    ]
    assert re.compile(pattern).match("x") is None

"""Apache's LogFormat directives as they stand in configurations, and what the lines they write become."""

from datetime import UTC, datetime

import polars as pl
import pytest

from tracemortem.sources.apache_format import apache_compiled, apache_directives
from tracemortem.sources.lines import TextFormat, parse

CONF = r"""
# LogFormat "%h not this one" off
LogFormat "%h %l %u %t \"%r\" %>s %b" common
  LogFormat "%v:%p %a %{c}a %t \"%r\" %>s %O \"%{User-Agent}i\" \"%{X-Forwarded-For}i\" %D %T" vhost_time
CustomLog "logs/a.log" "%{%Y-%m-%d %H:%M:%S}t %m %U%q %s %{ms}T"
CustomLog logs/access.log common
"""


def row(body: str, line: str) -> dict[str, object]:
    (directive,) = apache_directives(f'LogFormat "{body}" x')
    form = apache_compiled(directive)
    assert isinstance(form, TextFormat)
    lines = pl.DataFrame({"line": [1], "text": [line]}, schema={"line": pl.UInt64, "text": pl.String})
    rows, rejects = parse(lines, form)
    assert rejects.height == 0, rejects["reason"][0]
    return {name: value for name, value in rows.drop("line").row(0, named=True).items() if value is not None}


def test_every_format_of_a_configuration_is_found_but_those_commented_out():
    assert [directive.name for directive in apache_directives(CONF)] == ["common", "vhost_time", "3"]


def test_microseconds_give_the_end_and_win_over_whole_seconds():
    line = (
        'llm.example.org:443 198.51.100.7 10.0.0.4 [03/Feb/2026:12:02:07 +0100] "POST /v1/a?b=c HTTP/1.1" '
        '200 5120 "say \\"hi\\"" "198.51.100.7, 10.0.0.9" 4210000 4'
    )
    body = apache_directives(CONF)[1].body.replace('"', '\\"')
    assert row(body, line) == {
        "started_at": datetime(2026, 2, 3, 11, 2, 7, tzinfo=UTC),
        "finished_at": datetime(2026, 2, 3, 11, 2, 11, 210000, tzinfo=UTC),
        "duration_s": 4.21,
        "peer_address": "10.0.0.4",
        "forwarded_for": "198.51.100.7, 10.0.0.9",
        "method": "POST",
        "path": "/v1/a",
        "status": 200,
        "bytes_sent": 5120,
        "user_agent": 'say "hi"',
        "host_header": "llm.example.org",
    }


def test_a_time_written_without_a_zone_is_read_in_that_of_the_clock():
    found = row("%{%Y-%m-%d %H:%M:%S}t %m %>s %{ms}T", "2026-02-03 11:02:07 POST 200 4210")
    assert found == {
        "started_at": datetime(2026, 2, 3, 11, 2, 7, tzinfo=UTC),
        "finished_at": datetime(2026, 2, 3, 11, 2, 11, 210000, tzinfo=UTC),
        "duration_s": 4.21,
        "method": "POST",
        "status": 200,
    }


@pytest.mark.parametrize(
    ("field", "column", "second"),
    [("%{end:msec}t", "finished_at", "1770116527000"), ("%{usec}t", "started_at", "1770116527000000")],
)
def test_numbers_of_seconds_since_1970_are_times(field: str, column: str, second: str):
    assert row(f"{field} %s", f"{second} 200")[column] == datetime(2026, 2, 3, 11, 2, 7, tzinfo=UTC)


def test_a_format_without_a_time_is_refused_with_a_sentence():
    (directive,) = apache_directives('LogFormat "%h %>s" x')
    found = apache_compiled(directive)
    assert found == "LogFormat x writes no time that is read: add %t or %{msec}t"

"""What a template reads of a line is what the pattern it was made of reads, as Python's own engine tells."""

import io
import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tracemortem.sources import lines, scanned
from tracemortem.sources.declared_formats import formats
from tracemortem.sources.lines import TextFormat
from tracemortem.sources.log_format import Directive, compiled
from tracemortem.sources.template import template

BODY = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
    '"$host $uri" "$http_x_forwarded_for" rt=$request_time '
    'urt="$upstream_response_time" ua=$upstream_addr rid=$request_id'
)
LINE = (
    '203.0.113.9 - - [03/Feb/2026:12:02:07 +0100] "POST /v1/completions?a HTTP/1.1" 200 5120 "-" "h /v1" '
    '"198.51.100.7, 10.0.0.9" rt=4.210 urt="4.200" ua=10.1.0.4:8000 rid=5f0c'
)


def nginx(body: str) -> TextFormat:
    form = compiled(Directive("x", "default", body))
    assert isinstance(form, TextFormat)
    return form


FORM = nginx(BODY)


def walked(text: bytes, form: TextFormat = FORM) -> list[dict[str, str] | None]:
    """The fields of each line as the template reads them; None of a line that it leaves."""
    made = template(form.pattern)
    assert made is not None
    scan = scanned.scan(text, 1, made)
    found = iter(scan.found.iter_rows(named=True))
    return [next(found) if is_read else None for is_read in scan.is_read]


def matched(line: str, form: TextFormat = FORM) -> dict[str, str] | None:
    found = re.match(form.pattern.removesuffix("$") + r"\Z", line)
    return None if found is None else found.groupdict()


PIECES = st.sampled_from(
    [
        *LINE.split(" "),
        *(
            '"',
            "\\",
            '\\"',
            "\\\\",
            '" "',
            "]",
            "[",
            "/",
            ".",
            "-",
            "0",
            "0.1.2",
            "-, 0.1",
            "rt=",
            "unix:/a : b:1",
        ),
        *(", ", " : ", " ", "  ", "\t", "\r", "\x1c", "\u00a0", "\u2003", "é"),
    ]
)


@st.composite
def spoilt(draw: st.DrawFn) -> str:
    """The line, with pieces of it replaced, put in or taken out."""
    line = LINE
    for _ in range(draw(st.integers(0, 4))):
        begin = draw(st.integers(0, len(line)))
        end = min(len(line), begin + draw(st.integers(0, 6)))
        line = line[:begin] + draw(st.one_of(PIECES, st.just(""))) + line[end:]
    return line


@settings(max_examples=200, deadline=None)
@given(st.lists(spoilt(), min_size=1, max_size=20))
def test_what_the_template_reads_is_what_the_pattern_reads(texts: list[str]):
    found = walked("".join(f"{text}\n" for text in texts).encode())
    expected = [matched(text.removesuffix("\r")) for text in texts]
    assert [one if one is not None else given for one, given in zip(found, expected, strict=True)] == expected


def test_a_usual_line_is_read_by_the_template():
    assert walked(LINE.encode()) == [matched(LINE)]


def test_bytes_of_any_kind_are_lines_as_the_exact_way_cuts_them():
    text = b"a\r\nb\rc\n\n\r\nlast\r"
    made = template(FORM.pattern)
    assert made is not None
    assert scanned.scan(text, 5, made).lines.rows() == [(5, "a"), (6, "b\rc"), (7, ""), (8, ""), (9, "last")]


@settings(max_examples=40, deadline=None)
@given(st.lists(spoilt(), max_size=20), st.sampled_from(["\n", "\r\n"]))
def test_a_large_file_gives_the_rows_and_rejects_that_its_pattern_gives(texts: list[str], end: str):
    text = end.join(texts).encode()
    with pytest.MonkeyPatch.context() as patch:
        exact = list(lines.read(io.BytesIO(text), FORM))
        patch.setattr(lines, "_LARGE", 1)
        quick = list(lines.read(io.BytesIO(text), FORM))
    assert [(one.records, one.stored, one.bytes_read) for one in quick] == [
        (one.records, one.stored, one.bytes_read) for one in exact
    ]
    for one, other in zip(quick, exact, strict=True):
        assert_frame_equal(one.rows["access"].sort("line"), other.rows["access"])
        assert_frame_equal(one.rejects, other.rejects)


@pytest.mark.parametrize(
    "body",
    [
        "$remote_addr,$msec",  # an address may hold a comma
        "$http_a$msec",
        "$msec.$request_id",
        "$upstream_addr : $msec",
        "$status[$msec]$http_a$http_b",
    ],
)
def test_a_pattern_whose_fields_may_end_in_several_places_has_no_template(body: str):
    assert template(nginx(body).pattern) is None


def test_a_format_with_a_template_is_most_of_those_in_use():
    found = {form.name for form in formats() if not form.needs and template(form.pattern) is not None}
    assert found >= {"nginx_combined", "nginx_main", "apache_combined", "apache_common"}


def test_the_frames_of_a_block_outlive_it():
    made = template(FORM.pattern)
    assert made is not None
    found = [scanned.scan(f"{LINE}{number:09}\n".encode() * 50, 1, made).found for number in range(50)]
    assert pl.concat(found)["request_id"].unique().sort().to_list() == [f"5f0c{n:09}" for n in range(50)]

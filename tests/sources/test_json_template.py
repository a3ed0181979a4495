"""What a template reads of JSON lines is what the JSON parser gives; every other line is left to that."""

import io
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tracemortem.sources import lines, scanned
from tracemortem.sources.declared_formats import formats
from tracemortem.sources.json_template import json_template
from tracemortem.sources.lines import TextFormat

FORMS = {form.name: form for form in formats()}
NGINX = FORMS["nginx_json"]
LINES = {
    "nginx_json": (
        '{"time_iso8601":"2026-02-03T12:02:07+01:00","remote_addr":"203.0.113.9","status":200,'
        '"request":"POST /v1 HTTP/1.1","body_bytes_sent":5120,"request_time":4.210,'
        '"upstream_response_time":"4.200","http_user_agent":"a b","ssl":null,"request_id":"5f0c"}'
    ),
    "kong_json": (
        '{"request": {"method": "POST", "uri": "/v1?a", "size": 10, "id": "x"}, "response": {"status": 200, '
        '"size": 12}, "latencies": {"request": 4210, "proxy": 4200}, "started_at": 1770116527000, '
        '"client_ip": "203.0.113.9"}'
    ),
    "envoy_json": (
        '{"start_time":"2026-02-03T11:02:07.655Z","method":"POST","path":"/v1","protocol":"HTTP/1.1",'
        '"response_code":200,"bytes_sent":5120,"duration":4210,"x_forwarded_for":null,"user_agent":"a",'
        '"request_id":"5f0c","authority":"llm.example.org","upstream_host":"10.1.0.4:8000"}'
    ),
}
PIECES = st.sampled_from(
    [
        *("null", "true", "false", "0", "00", "-1", "0.10", "1e3", "123456789012345678", "12345678901.50"),
        *('""', '"x"', "[]", "[1]", "{}", '{"a":1}', '"\\\\"', '"\\u0041"', '\\"', "\\", '"', ",", ":"),
        *("}", "{", " ", "\t", "\r", "\x01", "\u00a0", "é", '"status":', '"status":200,', '"request":{},'),
    ]
)


@st.composite
def spoilt(draw: st.DrawFn, line: str) -> str:
    """The line, with pieces of it replaced, put in or taken out."""
    for _ in range(draw(st.integers(0, 3))):
        begin = draw(st.integers(0, len(line)))
        value = draw(st.booleans()) and line.find(":", begin)
        if value and value > 0:  # a whole value, or any piece
            begin, end = value + 1, value + 1 + len(line[value + 1 :].split(",", maxsplit=1)[0].rstrip("}"))
        else:
            end = min(len(line), begin + draw(st.integers(0, 6)))
        line = line[:begin] + draw(st.one_of(PIECES, st.just(""))) + line[end:]
    return line


VALUES = (
    *(
        "null",
        "true",
        "false",
        "0",
        "00",
        "-1",
        "-0",
        "0.10",
        "200.0",
        "200.10",
        "1e3",
        "1.50",
        "99999999999.50",
    ),
    *("123456789012345", "1234567890123456789", '""', '"-"', '"0"', '"x"', "[]", "[1]", "{}", '{"a":1}'),
    *(
        '"\\\\"',
        '"\\u0041"',
        '"\\n"',
        '"\\""',
        '"a\tb"',
        '"é\u00a0"',
        "nul",
        "1.",
        ".5",
        "NaN",
        '"a',
        " 1",
        "1 ",
    ),
)


def both(text: bytes, form: TextFormat) -> None:
    """The rows and rejects of the quick way are those of the exact one."""
    with pytest.MonkeyPatch.context() as patch:
        exact = list(lines.read(io.BytesIO(text), form))
        patch.setattr(lines, "_LARGE", 1)
        quick = list(lines.read(io.BytesIO(text), form))
    assert len(quick) == len(exact)
    for one, other in zip(quick, exact, strict=True):
        assert_frame_equal(one.rows["access"].sort("line"), other.rows["access"])
        assert_frame_equal(one.rejects, other.rejects)


@pytest.mark.parametrize("name", LINES)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_large_json_log_gives_the_rows_and_rejects_that_the_parser_gives(name, data):
    texts = data.draw(st.lists(spoilt(LINES[name]), max_size=15))
    both("\n".join([LINES[name], *texts]).encode(), FORMS[name])


@pytest.mark.parametrize("name", LINES)
def test_any_value_in_any_place_is_read_as_the_parser_reads_it(name):
    places = [found.span(1) for found in re.finditer(r':\s*("[^"]*"|[^\s{}",]+)', LINES[name])]
    texts = [LINES[name][:begin] + value + LINES[name][end:] for begin, end in places for value in VALUES]
    both("\n".join([LINES[name], *texts]).encode(), FORMS[name])


@pytest.mark.parametrize("name", LINES)
def test_a_usual_line_is_read_by_the_template_of_another(name):
    text = f"{LINES[name]}\n".encode()
    form = FORMS[name]
    made = json_template(text, form.needs, form.readings)
    assert made is not None
    scan = scanned.scan(text.replace(b"203.0.113.9", b"203.0.113.11"), 1, made)
    assert scan.is_read.to_list() == [True]
    told = scan.found.row(0, named=True)
    flat = {".".join(path): value for path, value in _flat(json.loads(text.replace(b".9", b".11")))}
    assert told == {path: "" if flat[path] is None else str(flat[path]) for path in told} | {
        path: "4.210" for path in told if path == "request_time"
    }


@pytest.mark.parametrize(
    "line",
    [
        '{"status":200,"request_time":[1],"uri":"/"}',  # a list
        '{"status":200,"request_time":1,"status":200}',  # a key that stands twice
        '{"status":200,"uri":"/"}',  # without what it needs
        '{"status":200,"request_time":{"a":1},"uri":"/"}',  # an object where a number is wanted
        '{"status":200,"request_time":1',
        "[1]",
    ],
)
def test_a_line_whose_like_the_parser_must_read_gives_no_template(line):
    assert json_template(line.encode(), NGINX.needs, NGINX.readings) is None


def test_the_first_line_that_is_json_gives_the_template():
    text = "started\n" + LINES["nginx_json"] + "\n"
    made = json_template(text.encode(), NGINX.needs, NGINX.readings)
    assert made is not None
    assert scanned.scan(text.encode(), 1, made).is_read.to_list() == [False, True]


def test_a_key_with_a_point_in_it_is_no_path():
    form = FORMS["kong_json"]
    text = LINES["kong_json"].replace('"client_ip"', '"request.tls": "x", "client_ip"')
    made = json_template(text.encode(), form.needs, form.readings)
    assert made is not None
    assert scanned.scan(text.encode(), 1, made).is_read.all()


def _flat(value: dict[str, object], above: tuple[str, ...] = ()):
    for key, one in value.items():
        if isinstance(one, dict):
            yield from _flat(one, (*above, key))
        else:
            yield (*above, key), one

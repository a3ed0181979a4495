"""Lines of JSON are read the same whether a compiled scanner takes them or the reader of small files does."""

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tracemortem.sources import otlp, otlp_scanned
from tracemortem.sources.blocks import Block
from tracemortem.sources.opened import opened
from tracemortem.sources.otlp_envelopes import envelopes
from tracemortem.sources.otlp_series import Catalogue

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"
START = 1777142984578685500


class Pairs(list[tuple[str, Any]]):
    """An object in which a key may stand twice."""


def written(value: Any, *, ascii_only: bool = True) -> str:
    if isinstance(value, Pairs | dict):
        pairs = value if isinstance(value, Pairs) else value.items()
        fields = (
            f"{json.dumps(key, ensure_ascii=ascii_only)}: {written(held, ascii_only=ascii_only)}"
            for key, held in pairs
        )
        return "{" + ",".join(fields) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(item, ascii_only=ascii_only) for item in value) + "]"
    return json.dumps(value, ensure_ascii=ascii_only)


def an_envelope(*spans: Any, resource: tuple[Any, ...] = ()) -> dict[str, Any]:
    scope_spans = [{"scope": {"name": "vllm"}, "spans": list(spans)}]
    return {"resourceSpans": [{"resource": {"attributes": list(resource)}, "scopeSpans": scope_spans}]}


def a_span(**fields: Any) -> dict[str, Any]:
    times = {"startTimeUnixNano": str(START), "endTimeUnixNano": str(START + 5)}
    return {"traceId": TRACE, "spanId": SPAN, "name": "llm_request", "kind": 2, **times, **fields}


def an_attribute(key: str, **value: Any) -> dict[str, Any]:
    return {"key": key, "value": value}


def assert_same(text: bytes) -> None:
    scanned, exact = (
        otlp.batch(Block(text, 7, len(text)), Catalogue(), is_large=is_large) for is_large in (True, False)
    )
    assert scanned.rows.keys() == exact.rows.keys()
    for name, rows in exact.rows.items():
        assert_frame_equal(scanned.rows[name], rows)
    assert_frame_equal(scanned.rejects, exact.rejects)
    figures = (exact.records, exact.stored, exact.bytes_read, exact.names)
    assert (scanned.records, scanned.stored, scanned.bytes_read, scanned.names) == figures


def left(*lines: str) -> list[int]:
    """The numbers of the lines that the scanner leaves to the exact reader."""
    found, lost = otlp_scanned.json_lines("\n".join(lines).encode("utf-8", "surrogatepass"), 1)
    assert found
    return [number for number, _ in lost]


NAMES = st.sampled_from(
    [
        "gen_ai.request.id",
        "gen_ai.request.model",
        "gen_ai.response.model",
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "gen_ai.latency.e2e",
        "queue_time",
        "http.request.header.x-forwarded-for",
        "url.path",
        "http.response.status_code",
        "llm.is_streaming",
        "service.name",
        "host.name",
        "anything",
        "é",
        "",
    ]
)
TEXTS = st.text(st.characters(codec=None), max_size=14) | st.sampled_from(
    ["", "35.2ms", "12", "0.5", "NaN", "true", "a/b?c", "203.0.113.9", "a text of more than twelve bytes"]
)
NUMBERS = st.one_of(
    st.integers(-(2**65), 2**65),
    st.sampled_from([0, 200, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1]),
    st.floats(),
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)
COUNTS = NUMBERS.map(str) | NUMBERS | st.sampled_from(["007", "-0", "-5", "+5", "1e3", " 1", ""])
ITEMS = st.one_of(
    TEXTS.map(lambda text: {"stringValue": text}),
    COUNTS.map(lambda count: {"intValue": count}),
    st.sampled_from([None, {}, {"string_value": "x"}]),
)
KNOWN_VALUES = st.one_of(
    TEXTS.map(lambda text: {"stringValue": text}),
    COUNTS.map(lambda count: {"intValue": count}),
    NUMBERS.map(lambda number: {"doubleValue": number}),
    st.booleans().map(lambda flag: {"boolValue": flag}),
    st.lists(ITEMS, max_size=3).map(lambda items: {"arrayValue": {"values": items}}),
)
VALUES = st.one_of(
    KNOWN_VALUES,
    KNOWN_VALUES,
    KNOWN_VALUES,
    JSON,
    st.sampled_from(
        ["stringValue", "string_value", "intValue", "boolValue", "kvlistValue", "bytesValue"]
    ).flatmap(lambda kind: JSON.map(lambda held: {kind: held})),
    st.builds(lambda one, other: Pairs([*one.items(), *other.items()]), KNOWN_VALUES, KNOWN_VALUES),
)
ATTRIBUTES = st.lists(
    st.one_of(
        st.builds(lambda key, value: {"key": key, "value": value}, NAMES, VALUES),
        st.builds(lambda key, value: {"key": key, "value": value}, NAMES, VALUES),
        st.builds(lambda key, value: {"value": value, "key": key}, NAMES, VALUES),
        st.sampled_from([{}, None, {"key": "host.name"}, {"value": {"stringValue": "x"}}, {"key": None}]),
    ),
    max_size=4,
)
IDS = st.sampled_from([TRACE, SPAN, TRACE.upper(), "", "0" * 16, "x", "W47/95gDgQPSabYzgT/GDA==", None, 5])
TIMES = st.sampled_from(
    [str(START), str(START + 10**9), START, "", "0", "x", None, 1.5, str(2**63), "9" * 19]
)
FIELDS = st.sampled_from(
    [
        ("traceId", IDS),
        ("spanId", IDS),
        ("parentSpanId", IDS),
        ("trace_id", IDS),
        ("name", TEXTS | JSON),
        ("kind", st.sampled_from([0, 3, 300, "SPAN_KIND_SERVER", "x", None, 2.0, 1.5, True])),
        ("startTimeUnixNano", TIMES),
        ("endTimeUnixNano", TIMES),
        ("attributes", ATTRIBUTES),
        (
            "status",
            st.sampled_from([{}, {"code": 2, "message": "too long"}, None, {"code": "STATUS_CODE_OK"}, 5]),
        ),
        ("events", JSON),
    ]
).flatmap(lambda field: st.tuples(st.just(field[0]), field[1]))
SPANS = st.builds(
    lambda attributes, more: Pairs([*a_span(attributes=attributes).items(), *more]),
    ATTRIBUTES,
    st.lists(FIELDS, max_size=1),
) | st.builds(lambda fields: Pairs(dict([*a_span().items(), *fields]).items()), st.lists(FIELDS, max_size=4))
ENVELOPES = st.one_of(
    st.builds(
        lambda spans, of: an_envelope(*spans, resource=tuple(of)), st.lists(SPANS, max_size=3), ATTRIBUTES
    ),
    st.builds(
        lambda spans, of: an_envelope(*spans, resource=tuple(of)), st.lists(SPANS, max_size=3), ATTRIBUTES
    ),
    st.builds(lambda spans: {"result": an_envelope(*spans)}, st.lists(SPANS, max_size=2)),
    st.builds(
        lambda spans, more: {**an_envelope(*spans), **more},
        st.lists(SPANS, max_size=2),
        st.dictionaries(TEXTS, JSON),
    ),
    st.builds(lambda held: {"resourceSpans": held}, JSON),
    st.builds(lambda held: {"resourceSpans": [{"scopeSpans": held}]}, JSON),
    JSON,
)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A line of an envelope, as it is, or with some bytes in it changed."""
    text = written(draw(ENVELOPES), ascii_only=draw(st.booleans()))
    line = bytearray(text.encode("utf-8", "surrogatepass"))
    for at, byte, how in draw(
        st.lists(
            st.tuples(st.integers(0, len(line)), st.integers(0, 255), st.sampled_from("rid")), max_size=2
        )
        if draw(st.booleans())
        else st.just([])
    ):
        if how == "i":
            line.insert(min(at, len(line)), byte)
        elif at < len(line) and how == "r":
            line[at] = byte
        elif at < len(line):
            del line[at]
    return bytes(line)


A_LINE = json.dumps(an_envelope(a_span())).encode()


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.lists(lines(), min_size=1, max_size=5), st.sampled_from([b"\n", b"\r\n", b"\n\n"]))
def test_scanned_or_not_the_rows_and_rejects_are_the_same(found: list[bytes], end: bytes):
    assert_same(end.join([A_LINE, *found, A_LINE]))


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside this checkout")
def test_of_every_file_of_traces_in_the_corpus_the_rows_and_rejects_are_the_same():
    compared = 0
    for path in sorted(path for path in CORPUS.rglob("*") if path.is_file()):
        with opened(path) as stream:
            text = stream.read()
        if b'"resourceSpans"' in text[: 64 << 10]:
            assert_same(text)
            compared += 1
    assert compared > 10


def test_what_the_collector_writes_is_not_left_to_the_exact_reader():
    attributes = [
        an_attribute("gen_ai.request.id", stringValue='a "quoted" \\ id, \u00e9 \U0001f600'),
        an_attribute("gen_ai.usage.input_tokens", intValue="12"),
        an_attribute("gen_ai.latency.e2e", doubleValue=0.25e-3),
        an_attribute("anything", kvlistValue={"values": [an_attribute("a", boolValue=True)]}),
        an_attribute("http.request.header.x-forwarded-for", arrayValue={"values": [{"stringValue": "a"}]}),
    ]
    line = json.dumps(an_envelope(a_span(attributes=attributes, status={}, events=[{"name": "x"}])))
    assert left(line, "", json.dumps(an_envelope()), json.dumps({"resourceSpans": []})) == []


@pytest.mark.parametrize(
    "line",
    [
        json.dumps({"resource_spans": []}),
        json.dumps({"resourceMetrics": []}),
        json.dumps({"resourceSpans": [None]}),
        json.dumps(an_envelope(a_span(kind="SPAN_KIND_SERVER"))),
        json.dumps(an_envelope(a_span(span_id=SPAN))),
        written(an_envelope(Pairs([*a_span().items(), ("name", "twice")]))),
        json.dumps(an_envelope(a_span(attributes=[{"value": {"stringValue": "x"}, "key": "url.path"}]))),
        json.dumps(an_envelope(a_span(name="\ud83d"))),
        json.dumps(an_envelope(a_span(events="[" * 100))).replace('"[', "[").replace('["', "[") + "]",
        json.dumps(an_envelope(a_span()))[:-1],
        json.dumps(an_envelope(a_span())) + "}",
        "[]",
        "null",
    ],
)
def test_what_the_scanner_does_not_understand_is_left_to_the_exact_reader(line: str):
    assert left(line, json.dumps(an_envelope(a_span()))) == [1]


@pytest.mark.parametrize(("large", "lines_read_exactly"), [(len(A_LINE), 0), (len(A_LINE) + 1, 1)])
def test_files_from_a_size_on_are_scanned(
    monkeypatch: pytest.MonkeyPatch, large: int, lines_read_exactly: int
):
    given = []
    monkeypatch.setattr(otlp, "LARGE", large)
    monkeypatch.setattr(otlp, "envelopes", lambda lines: envelopes(given.extend(lines) or given))
    [batch] = otlp.read(io.BytesIO(A_LINE))
    assert (batch.stored, len(given)) == (1, lines_read_exactly)


def test_a_line_that_is_not_utf_8_is_left_and_its_neighbours_are_scanned():
    bad = json.dumps(an_envelope(a_span(name="\udcff")), ensure_ascii=False)
    text = "\n".join([A_LINE.decode(), bad, A_LINE.decode()]).encode("utf-8", "surrogatepass")
    found, lost = otlp_scanned.json_lines(text, 1)
    assert [number for number, _ in lost] == [2]
    assert pl.concat([part.plain for part in found])["line"].to_list() == [1, 3]


def test_a_line_of_which_more_is_found_than_there_is_room_for_is_left(monkeypatch: pytest.MonkeyPatch):
    made = otlp_scanned.tape_for
    monkeypatch.setattr(otlp_scanned, "tape_for", lambda _: made(60))
    line = json.dumps(an_envelope(*[a_span() for _ in range(9)]))
    found, lost = otlp_scanned.json_lines(
        "\n".join([A_LINE.decode(), line, *[A_LINE.decode()] * 9]).encode(), 1
    )
    assert [number for number, _ in lost] == [2]
    lines_of = [number for part in found for number in part.plain["line"].to_list()]
    assert lines_of == [1, *range(3, 12)]

"""OTLP written in any of the ways that are met gives the same rows, whichever way the reader takes."""

import io
import json
import random
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tracemortem.sources import otlp, otlp_envelopes

NS = 1777142984578685500
RESOURCE = {"attributes": [{"key": "service.name", "value": {"stringValue": "llm"}}]}
SPANS: dict[str, Any] = {
    "resourceSpans": [
        {
            "resource": RESOURCE,
            "scopeSpans": [
                {
                    "scope": {"name": "vllm"},
                    "spans": [
                        {
                            "traceId": "5b8efff798038103d269b633813fc60c",
                            "spanId": "eee19b7ec3c1b174",
                            "parentSpanId": "0f1e2d3c4b5a6978",
                            "name": "llm_request",
                            "kind": 2,
                            "startTimeUnixNano": str(NS),
                            "endTimeUnixNano": str(NS + 17),
                            "attributes": [
                                {"key": "gen_ai.usage.prompt_tokens", "value": {"intValue": "2361"}},
                                {"key": "gen_ai.latency.e2e", "value": {"doubleValue": 48.5}},
                                {"key": "gen_ai.request.stream", "value": {"boolValue": True}},
                                {
                                    "key": "http.request.header.x-forwarded-for",
                                    "value": {"arrayValue": {"values": [{"stringValue": "1.2.3.4"}]}},
                                },
                            ],
                            "status": {"code": 2, "message": "timed out"},
                        }
                    ],
                }
            ],
        }
    ]
}
LOGS: dict[str, Any] = {
    "resourceLogs": [
        {
            "resource": RESOURCE,
            "scopeLogs": [
                {
                    "scope": {"name": "app"},
                    "logRecords": [
                        {
                            "timeUnixNano": str(NS),
                            "severityNumber": 13,
                            "severityText": "WARN",
                            "body": {"stringValue": "preempted"},
                            "traceId": "5b8efff798038103d269b633813fc60c",
                            "spanId": "eee19b7ec3c1b174",
                        }
                    ],
                }
            ],
        }
    ]
}
POINT = {"timeUnixNano": str(NS), "attributes": [{"key": "gpu", "value": {"stringValue": "0"}}]}
CUMULATIVE = {"aggregationTemporality": 2}
METRICS: dict[str, Any] = {
    "resourceMetrics": [
        {
            "resource": RESOURCE,
            "scopeMetrics": [
                {
                    "scope": {"name": "app"},
                    "metrics": [
                        {"name": "load", "gauge": {"dataPoints": [{**POINT, "asDouble": 0.5}]}},
                        {
                            "name": "done",
                            "sum": {
                                "dataPoints": [{**POINT, "asInt": "7"}],
                                "isMonotonic": True,
                                **CUMULATIVE,
                            },
                        },
                        {
                            "name": "took",
                            "unit": "s",
                            "histogram": {
                                "dataPoints": [
                                    {
                                        **POINT,
                                        "count": "3",
                                        "sum": 1.5,
                                        "bucketCounts": ["1", "2"],
                                        "explicitBounds": [0.5],
                                    }
                                ],
                                **CUMULATIVE,
                            },
                        },
                    ],
                }
            ],
        }
    ]
}
ALL = (SPANS, LOGS, METRICS)
ENUMS = {
    "kind": {2: "SPAN_KIND_SERVER"},
    "code": {2: "STATUS_CODE_ERROR"},
    "severityNumber": {13: "SEVERITY_NUMBER_WARN"},
    "aggregationTemporality": {2: "AGGREGATION_TEMPORALITY_CUMULATIVE"},
}
COUNTS = {
    "startTimeUnixNano",
    "endTimeUnixNano",
    "timeUnixNano",
    "intValue",
    "asInt",
    "count",
    "bucketCounts",
}
REALS = {"doubleValue", "asDouble", "sum", "explicitBounds"}
FORMER = {
    "scope": "instrumentationLibrary",
    "scopeSpans": "instrumentationLibrarySpans",
    "scopeLogs": "instrumentationLibraryLogs",
    "scopeMetrics": "instrumentationLibraryMetrics",
    "gauge": "doubleGauge",
    "resourceSpans": "batches",
}


def rewritten(found: Any, field: Callable[[str, Any], dict[str, Any]]) -> Any:
    """The same tree, each field replaced by what `field` makes of its name and value, from the leaves up."""
    if isinstance(found, list):
        return [rewritten(item, field) for item in found]
    if not isinstance(found, dict):
        return found
    fields = (field(name, rewritten(value, field)) for name, value in found.items())
    return {name: value for made in fields for name, value in made.items()}


def each(change: Callable[[Any], Any], value: Any) -> Any:
    return [change(item) for item in value] if isinstance(value, list) else change(value)


def snake_case(name: str, value: Any) -> dict[str, Any]:
    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(): value}


def integers_as_numbers(name: str, value: Any) -> dict[str, Any]:
    return {name: each(int, value) if name in COUNTS else value}


def integers_as_floats(name: str, value: Any) -> dict[str, Any]:
    return {name: each(float, value) if name in COUNTS and not name.endswith("Nano") else value}


def reals_as_texts(name: str, value: Any) -> dict[str, Any]:
    return {name: each(str, value) if name in REALS and not isinstance(value, dict) else value}


def names_of_enums(name: str, value: Any) -> dict[str, Any]:
    return {name: ENUMS[name][value] if name in ENUMS else value}


def enums_as_texts(name: str, value: Any) -> dict[str, Any]:
    return {name: str(value) if name in ENUMS else value}


def capital_ids(name: str, value: Any) -> dict[str, Any]:
    return {name: value.upper() if name in {"traceId", "spanId", "parentSpanId"} else value}


def base64_ids(name: str, value: Any) -> dict[str, Any]:
    is_id = name in {"traceId", "spanId", "parentSpanId"}
    return {name: b64encode(bytes.fromhex(value)).decode() if is_id else value}


def nulls(name: str, value: Any) -> dict[str, Any]:
    return {f"not_{name}": None, name: value, "traceState": None}


def unknown_fields(name: str, value: Any) -> dict[str, Any]:
    return {name: value, f"x{name}": {"traceId": [1, {"spans": None}]}, "flags": 0}


def former_names(name: str, value: Any) -> dict[str, Any]:
    return {FORMER.get(name, name): value}


def texts_of_truth(name: str, value: Any) -> dict[str, Any]:
    return {name: str(value).lower() if name in {"boolValue", "isMonotonic"} else value}


NAMES_OF_TWO_WORDS = set(re.findall(r'"([a-z]+[A-Z][A-Za-z]*)":', json.dumps(ALL)))
WRITINGS = (
    snake_case,
    integers_as_numbers,
    integers_as_floats,
    reals_as_texts,
    names_of_enums,
    enums_as_texts,
    capital_ids,
    base64_ids,
    nulls,
    unknown_fields,
    former_names,
    texts_of_truth,
)


def rows(text: bytes) -> dict[str, pl.DataFrame]:
    """The rows by table, and the rejects; their excerpts show what was written, and so are left out."""
    batches = list(otlp.read(io.BytesIO(text)))
    assert all(batch.records == batch.stored + batch.rejects.height for batch in batches)
    tables = {name: pl.concat([batch.rows[name] for batch in batches]) for name in batches[0].rows}
    return tables | {"rejects": pl.concat([batch.rejects for batch in batches]).drop("excerpt")}


def lines(*envelopes: Any) -> bytes:
    return b"".join(json.dumps(envelope).encode() + b"\n" for envelope in envelopes)


def assert_same(found: dict[str, pl.DataFrame], expected: dict[str, pl.DataFrame]) -> None:
    assert found.keys() == expected.keys()
    for name, table in found.items():
        assert_frame_equal(table, expected[name])


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Arrow refuses everything, so that every line is read exactly."""
    with monkeypatch.context() as patch:
        patch.setattr(otlp_envelopes, "_fast", lambda _: None)
        yield


def test_the_writing_of_the_collector_is_read_fast(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(otlp_envelopes, "_exact", lambda _: pytest.fail("was read line by line"))
    assert rows(lines(*ALL))["span"].height == 1


@pytest.mark.parametrize("writing", WRITINGS, ids=lambda writing: writing.__name__)
def test_another_writing_gives_the_same_rows(writing):
    assert_same(rows(lines(*(rewritten(one, writing) for one in ALL))), rows(lines(*ALL)))


@pytest.mark.parametrize("writing", WRITINGS, ids=lambda writing: writing.__name__)
def test_two_other_writings_at_once_give_the_same_rows(writing):
    both = (rewritten(rewritten(one, writing), snake_case) for one in ALL)
    assert_same(rows(lines(*both)), rows(lines(*ALL)))


@pytest.mark.parametrize("name", sorted(NAMES_OF_TWO_WORDS))
def test_one_field_in_snake_case_among_others_that_are_not_is_not_lost(name):
    def one_field(field: str, value: Any) -> dict[str, Any]:
        return snake_case(field, value) if field == name else {field: value}

    assert_same(rows(lines(*(rewritten(one, one_field) for one in ALL))), rows(lines(*ALL)))


def test_the_exact_way_gives_the_same_rows_as_the_fast_one(request: pytest.FixtureRequest):
    fast = rows(lines(*ALL))
    request.getfixturevalue("refused")
    assert_same(rows(lines(*ALL)), fast)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b"\n", b" \t\n"),
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: b"\0" * 4096 + text,
        lambda text: text.replace(b'"name"', b'"n\\u0061me"'),
        lambda text: text.replace(b'"kind": 2', b'"kind": 1, "kind": 2'),
        lambda text: text.replace(b'"status": {', b'"status": {}, "status": {'),
        lambda text: text.replace(b": ", b" :  "),
        lambda text: text.replace(b"0.5", b"5e-1"),
    ],
)
def test_what_happens_to_text_on_its_way_changes_no_row(damage):
    assert_same(rows(damage(lines(*ALL))), rows(lines(*ALL)))


@pytest.mark.parametrize("wrapper", ["result", "trace"])
def test_an_envelope_inside_a_query_answer_is_found(wrapper):
    assert_same(rows(lines({wrapper: SPANS})), rows(lines(SPANS)))


def test_bytes_that_are_no_utf8_become_replacement_characters():
    text = lines(LOGS).replace(b"preempted", b"pr\xe9empted")
    assert rows(text)["log"]["body"].to_list() == ["pr\ufffdempted"]


def test_half_of_a_surrogate_pair_becomes_a_question_mark():
    assert rows(lines(LOGS).replace(b"preempted", b"\\ud83d!"))["log"]["body"].to_list() == ["?!"]


def test_a_structured_body_is_json():
    value = {
        "kvlistValue": {"values": [{"key": "code", "value": {"intValue": "7"}}, {"key": "none", "value": {}}]}
    }
    items = {"arrayValue": {"values": [value, {"boolValue": True}, {"bytesValue": "AAE="}]}}
    log = deepcopy(LOGS)
    log["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["body"] = items
    (body,) = rows(lines(log))["log"]["body"]
    assert json.loads(body) == [{"code": 7, "none": None}, True, "AAE="]


def test_one_odd_line_leaves_its_neighbours_to_the_fast_way(monkeypatch: pytest.MonkeyPatch):
    exact = otlp_envelopes._exact
    read: list[int] = []
    monkeypatch.setattr(
        otlp_envelopes, "_exact", lambda found: read.extend(n for n, _ in found) or exact(found)
    )
    monkeypatch.setattr(otlp_envelopes, "_HALVED_DOWN_TO", 0)
    good = lines(SPANS)
    found = rows(good * 700 + b"odd\n" + good * 300)
    assert (read, found["span"]["line"].to_list()) == ([701], [*range(1, 701), *range(702, 1002)])


JUNK = (
    None, 0, -1, 1.5, "", "5", True, [], {}, [None], [{}], "NaN", "Infinity", 10**30, 2**63, "ünï", "\ud800",
    {"stringValue": None}, {"intValue": "5"}, {"intValue": 5}, {"doubleValue": "NaN"}, {"boolValue": "true"},
    {"arrayValue": {"values": [{"stringValue": "a"}, None, {"intValue": "2"}]}}, {"string_value": "q"},
    {"kvlistValue": {"values": [{"key": "k", "value": {"intValue": "2"}}]}}, {"bytesValue": "AAEC"},
)  # fmt: skip


def places(found: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of everything in a tree but of the tree itself."""
    inner = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


def broken(chance: random.Random) -> bytes:
    """An envelope of which some things were replaced by junk, and some bytes perhaps as well."""
    found = deepcopy(chance.choice(ALL))
    for _ in range(chance.choice((0, 1, 1, 2, 4))):
        *path, last = chance.choice(list(places(found)) or [(None,)])
        if last is None:
            break
        owner = found
        for key in path:
            owner = owner[key]
        owner[last] = deepcopy(chance.choice(JUNK))
    text = bytearray(json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if chance.random() < 0.15:
        text[chance.randrange(len(text))] = chance.choice(b'{}[]",:0\\ \xff')
    return bytes(text)


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_broken_both_ways_give_the_same_rows_and_rejects(seed, request: pytest.FixtureRequest):
    chance = random.Random(seed)
    text = b"\n".join(broken(chance) for _ in range(3))
    fast = rows(text)
    request.getfixturevalue("refused")
    assert_same(rows(text), fast)

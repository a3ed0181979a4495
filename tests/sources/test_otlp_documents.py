"""OTLP as documents of JSON gives the rows of the same envelopes as JSON lines."""

import io
import itertools
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tracemortem.errors import InputError
from tracemortem.sources import otlp, otlp_documents
from tracemortem.sources.find import survey
from tracemortem.sources.registry import read

NS = 1777142984578685500
RESOURCE = {"attributes": [{"key": "service.name", "value": {"stringValue": 'a "quoted" } {\\'}}]}


def spans(*numbers: int) -> dict[str, Any]:
    """A resource of spans with these numbers."""
    found = [
        {
            "traceId": f"{number + 1:032x}",
            "spanId": f"{number + 1:016x}",
            "name": "}{" * (number % 3),
            "startTimeUnixNano": str(NS + number),
            "endTimeUnixNano": str(NS + number + 17),
            "attributes": [{"key": "gen_ai.usage.prompt_tokens", "value": {"intValue": str(number)}}],
        }
        for number in numbers
    ]
    return {"resource": RESOURCE, "scopeSpans": [{"scope": {"name": "vllm"}, "spans": found}]}


def logs(text: str) -> dict[str, Any]:
    record = {"timeUnixNano": str(NS), "body": {"stringValue": text}}
    return {"resource": RESOURCE, "scopeLogs": [{"logRecords": [record]}]}


def metrics(value: float) -> dict[str, Any]:
    gauge = {"name": "load", "gauge": {"dataPoints": [{"timeUnixNano": str(NS), "asDouble": value}]}}
    return {"resource": RESOURCE, "scopeMetrics": [{"metrics": [gauge]}]}


ENVELOPES: list[dict[str, Any]] = [
    {"resourceSpans": [spans(0, 1), spans(2)]},
    {"resourceLogs": [logs('}"\\')]},
    {"resourceMetrics": [metrics(0.5)], "resourceSpans": [spans(3)]},
    {"resourceSpans": []},
    {"resourceLogs": [logs("\u00e9\n")]},
]


def rows(text: str | bytes, reader: Any = otlp_documents, **size: int) -> dict[str, pl.DataFrame]:
    """The rows by table, and the rejects."""
    content = text.encode() if isinstance(text, str) else text
    batches = list(reader.read(io.BytesIO(content), **size))
    assert all(batch.records == batch.stored + batch.rejects.height for batch in batches)
    assert sum(batch.bytes_read for batch in batches) <= len(content)
    tables = {name: pl.concat([batch.rows[name] for batch in batches]) for name in batches[0].rows}
    return tables | {"rejects": pl.concat([batch.rejects for batch in batches])}


def without_lines(found: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    return {name: frame.drop("line", strict=False) for name, frame in found.items()}


def assert_same(found: dict[str, pl.DataFrame], expected: dict[str, pl.DataFrame]) -> None:
    for name, table in expected.items():
        assert_frame_equal(found[name], table)


AS_LINES = rows("".join(json.dumps(one) + "\n" for one in ENVELOPES), otlp)


@pytest.mark.parametrize("indent", [None, 0, 2, "\t"])
@pytest.mark.parametrize("between", ["", "\n", " \n\n", "\r\n", ",\n"])
@pytest.mark.parametrize(
    "ends", [("", ""), ("[", "]\n"), ("[\n", "\n]")], ids=["one by one", "list", "open list"]
)
def test_documents_however_written_give_the_same_rows(indent: Any, between: str, ends: tuple[str, str]):
    text = ends[0] + between.join(json.dumps(one, indent=indent) for one in ENVELOPES) + ends[1]
    assert_same(without_lines(rows(text)), without_lines(AS_LINES))


def test_a_row_stands_on_the_line_where_its_document_begins():
    pretty = json.dumps(ENVELOPES[1], indent=1)
    text = f"\n{pretty} {json.dumps(ENVELOPES[1])}\n{pretty}{pretty}"
    height = pretty.count("\n")
    assert rows(text)["log"]["line"].to_list() == [2, 2 + height, 3 + height, 3 + 2 * height]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("ends", [("", ""), ("[", "]")], ids=["one", "list"])
@pytest.mark.parametrize("wrapper", ["", "result", "trace"])
def test_a_document_larger_than_a_block_is_read_by_its_resources(
    indent: Any, ends: tuple[str, str], wrapper: str
):
    document: dict[str, Any] = {
        "resourceMetrics": [metrics(0.25), metrics(0.5)],
        "resourceSpans": [spans(*range(9)), spans(9)],
        "resourceLogs": [logs("x")],
        "partial": [],
    }
    if wrapper:
        document = {wrapper: document}
    text = ends[0] + json.dumps(document, indent=indent) + ends[1]
    found = rows(text, size=500)
    assert [(found[name].height) for name in ("span", "log", "sample")] == [10, 1, 2]
    assert_same(without_lines(found), without_lines(rows(json.dumps(document) + "\n", otlp)))


def test_what_is_no_resource_in_a_large_document_is_a_reject():
    text = json.dumps({"resourceSpans": [spans(*range(9)), {"x": 1}, [spans(1)], spans(9)]}, indent=1)
    found = rows(text, size=500)
    assert found["span"].height == 10
    why = "not an OTLP envelope: it has none of resourceSpans, resourceMetrics, resourceLogs"
    assert found["rejects"]["reason"].to_list() == [why, why]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ('{\n "resourceSpans": [\n', "it ends before its end"),
        ('{\n "resourceSpans": [{"x": "cut\n', "it ends before its end"),
        ('{\n "resourceSpans": [}\n}\n', "not JSON"),
        ('{\n "resourceSpans": "x\ny"\n}\n', "not JSON"),
        ('{\n "other": []\n}\n', "not an OTLP envelope"),
        ("hello\n", "not JSON"),
    ],
)
def test_a_broken_document_is_a_reject_on_its_line_and_costs_its_neighbours_nothing(broken: str, reason: str):
    good = json.dumps(ENVELOPES[0], indent=1) + "\n"
    found = rows(good + broken + good)
    assert found["span"].height == 6
    lines, reasons = found["rejects"]["line"].to_list(), found["rejects"]["reason"].to_list()
    assert lines[0] == 1 + good.count("\n")
    assert reasons[0].startswith(reason)
    assert lines == [lines[0]]


def test_a_document_cut_off_is_a_reject():
    text = json.dumps(ENVELOPES[0], indent=1)
    found = rows(text + "\n" + text[:-9])
    assert (found["span"].height, found["rejects"]["reason"].to_list()) == (3, ["the text ends within it"])


def test_a_document_that_breaks_off_after_the_first_block_keeps_the_resources_before():
    text = json.dumps({"resourceSpans": [spans(*range(9)), spans(9)]}, indent=1)
    found = rows(text[:-60], size=500)
    assert (found["span"].height, found["rejects"]["reason"].to_list()) == (9, ["the text ends within it"])


@pytest.mark.parametrize("seed", range(20))
def test_generated_documents_in_any_writing_and_chunks_of_any_size_give_the_same_rows(seed: int):
    chosen = random.Random(seed)
    envelopes = chosen.choices(ENVELOPES, k=12)
    texts = [json.dumps(one, indent=chosen.choice([None, None, 1, 4])) for one in envelopes]
    between = chosen.choices(["", "\n", " ", "\n\n", ","], k=11)
    text = "".join(itertools.chain.from_iterable(zip(texts, [*between, ""], strict=True)))
    size = max(map(len, texts)) + chosen.randrange(1, 3000)
    expected = rows("".join(json.dumps(one) + "\n" for one in envelopes), otlp)
    assert_same(without_lines(rows(text, size=size)), without_lines(expected))


@pytest.mark.parametrize(
    "name", ["duckdb-otlp/logs_document.json", "opentelemetry-proto/metrics.json", "tempo/trace.json"]
)
def test_documents_of_the_corpus_are_read(shared: Path, name: str):
    (found,) = survey([str(shared / "corpus/otlp" / name)])
    batches = list(read(found))
    assert found.format == "otlp_json_documents"
    assert sum(batch.stored for batch in batches) > 0
    assert sum(batch.rejects.height for batch in batches) == 0


@pytest.mark.parametrize("blank", [b" ", b"\n"])
def test_blanks_before_a_document_cost_no_more_than_other_bytes(tmp_path: Path, blank: bytes):
    path = tmp_path / "a"
    path.write_bytes(blank * 3_000_000 + b'{"no": "envelope"')  # hours, if each blank were tried with each
    assert not any(batch.stored for batch in otlp_documents.read(io.BytesIO(path.read_bytes())))
    with pytest.raises(InputError, match="cannot be read"):
        survey([str(path)])

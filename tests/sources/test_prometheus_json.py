"""Metrics as JSON: each point is stored or a reject, with the values that were asked for."""

import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tracemortem.sources import json_documents, prometheus_json
from tracemortem.sources.batch import SAMPLE, SERIES, Batch
from tracemortem.sources.find import survey
from tracemortem.sources.registry import read

AT = datetime(2026, 2, 3, 11, 2, 7, tzinfo=UTC)
T = 1770116527
UTIL = {"__name__": "DCGM_FI_DEV_GPU_UTIL", "UUID": "GPU-1", "Hostname": "n1"}


def matrix(*result: Any) -> str:
    data = {"resultType": "matrix", "result": list(result)}
    return json.dumps({"status": "success", "data": data})


def one(text: str, reader: Callable[[BinaryIO], Iterator[Batch]] = prometheus_json.read) -> Batch:
    (batch,) = reader(io.BytesIO(text.encode()))
    assert batch.records == batch.stored + batch.rejects.height
    assert batch.bytes_read == len(text)
    return batch


def points(batch: Batch) -> list[tuple[datetime, float | None]]:
    return list(batch.rows["sample"].select("at", "value").iter_rows())


def test_the_rows_have_the_declared_columns():
    rows = one(matrix({"metric": UTIL, "values": [[T, "1"]]})).rows
    assert (rows["series"].schema, rows["sample"].schema) == (SERIES, SAMPLE)


def test_a_matrix_gives_each_point_and_says_what_it_is_of():
    batch = one(matrix({"metric": UTIL, "values": [[T, "97"], [T + 0.25, "NaN"], [T + 1, "1e3"]]}))
    assert points(batch) == [
        (AT, 97.0),
        (AT + timedelta(milliseconds=250), None),
        (AT + timedelta(seconds=1), 1000.0),
    ]
    assert batch.rows["series"].select("record", "field", "gpu", "host").rows() == [
        ("gpu_sample", "gpu_util_ratio", "GPU-1", "n1")
    ]


def test_a_vector_gives_one_point_a_series():
    data = {"resultType": "vector", "result": [{"metric": UTIL, "value": [T, "5"]}]}
    assert points(one(json.dumps({"status": "success", "data": data}))) == [(AT, 5.0)]


def test_a_native_histogram_gives_its_count_and_its_sum():
    entry = {"metric": {"__name__": "h"}, "histograms": [[T, {"count": "3", "sum": "1.5", "buckets": []}]]}
    batch = one(matrix(entry))
    assert batch.rows["series"]["name"].to_list() == ["h_count", "h_sum"]
    assert points(batch) == [(AT, 3.0), (AT, 1.5)]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (
            {"metric": {"gpu": "0"}, "values": [[T, "1"]]},
            "no __name__: the answer to a function or a sum does not say which metric it is of",
        ),
        ({"metric": UTIL, "values": [[T, "x"]]}, "the time is no time, or the value no number"),
        ({"metric": UTIL, "values": [[-1, "1"]]}, "the time is no time, or the value no number"),
        ({"metric": UTIL, "values": [[T]]}, "a point is a time and a value"),
        ({"metric": UTIL, "values": 7}, "a series whose values are no list"),
        ({"values": [[T, "1"]]}, "a series without labels"),
        (7, "a series without labels"),
    ],
)
def test_what_is_no_point_is_a_reject(entry: Any, reason: str):
    batch = one(matrix({"metric": UTIL, "values": [[T, "1"]]}, entry))
    assert (batch.stored, batch.rejects["reason"].to_list()) == (1, [reason])


def test_several_answers_with_the_queries_between_are_all_read():
    answer = matrix({"metric": UTIL, "values": [[T, "1"]]})
    text = f'Query: rate(a{{b="c"}}[5m])\n{answer}\nQuery: b{{}}\n{answer}\n{{"broken\n'
    batch = one(text)
    assert list(batch.rows["sample"]["line"]) == [2, 4]
    assert batch.rejects.select("line", "reason").rows() == [
        (3, "no answer of the Prometheus API: it has no result"),
        (5, "no whole answer of the Prometheus API: the text ends within it"),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (matrix({"metric": UTIL, "values": [[T, "1"]]})[:-5], "the text ends within it"),
        (
            matrix({"metric": UTIL, "values": [[T, "1"]]}).replace("[[", "[,["),
            "not JSON: ",
        ),
    ],
)
def test_an_answer_that_is_not_whole_is_a_reject(text: str, why: str):
    (reason,) = one(text).rejects["reason"]
    assert reason.startswith(f"no whole answer of the Prometheus API: {why}")


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("wrapped", [True, False])
def test_a_large_answer_is_read_by_its_series(
    monkeypatch: pytest.MonkeyPatch, indent: int | None, wrapped: bool
):
    monkeypatch.setattr(json_documents, "BLOCK", 1000)
    monkeypatch.setattr(prometheus_json, "BLOCK", 3000)
    series = [{"metric": {**UTIL, "gpu": str(gpu)}, "values": [[T, "1"], [T + 1, "2"]]} for gpu in range(50)]
    data = {"resultType": "matrix", "result": [*series, {"values": []}], "stats": {"timings": {"eval": 1}}}
    text = json.dumps({"status": "success", "data": data} if wrapped else data, indent=indent)
    batches = list(prometheus_json.read(io.BytesIO(text.encode())))
    assert len(batches) > 2
    assert sum(batch.stored for batch in batches) == 100
    assert [row for batch in batches for row in batch.rejects["reason"]] == ["a series without labels"]


def test_lines_of_an_export_are_series_with_times_in_milliseconds():
    line = json.dumps({"metric": UTIL, "values": [97, None, 1.5], "timestamps": [T * 1000] * 3})
    batch = one(f"{line}\nbroken\n", prometheus_json.read_export)
    assert points(batch) == [(AT, 97.0), (AT, None), (AT, 1.5)]
    assert batch.rejects["line"].to_list() == [2]


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (matrix({"metric": UTIL, "values": [[T, "1"]]}), ("metrics_json", "prometheus_json")),
        (
            json.dumps({"metric": UTIL, "values": [1], "timestamps": [T * 1000]}, separators=(",", ":")),
            ("metrics_json", "victoriametrics_export"),
        ),
        (f'{{__name__="a", b="c"}} 1 {T}000\n', ("metrics_text", "tsdb_dump")),
    ],
)
def test_each_is_told_by_its_content(tmp_path: Path, text: str, known: tuple[str, str]):
    (tmp_path / "a").write_text(text)
    (found,) = survey([str(tmp_path)])
    assert (found.kind, found.format) == known
    assert sum(batch.stored for batch in read(found)) == 1


def test_an_error_that_was_saved_is_skipped(tmp_path: Path):
    (tmp_path / "a").write_text('{"status":"error","errorType":"timeout","error":"query timed out"}')
    (tmp_path / "b").write_text('a{b="c"} 1\n')
    assert [found.kind for found in survey([str(tmp_path)])] == ["skipped", "metrics_text"]

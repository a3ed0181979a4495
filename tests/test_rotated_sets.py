"""`tracemortem ingest` on sets of rotated files: a record that the rotation cut in two counts once, whole."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tracemortem import cli
from tracemortem.settings import Settings
from tracemortem.sources.clock import Told
from tracemortem.sources.find import survey
from tracemortem.sources.rejoined import rejoined
from tracemortem.steps.load import load

START = 1_776_994_500_000_000_000


def span(number: int, name: str = "chat") -> bytes:
    """A line of the file exporter with one span, whose trace id is its number."""
    one = {
        "traceId": f"{number:032x}",
        "spanId": f"{number:016x}",
        "name": name,
        "kind": 2,
        "startTimeUnixNano": str(START + number * 10**9),
        "endTimeUnixNano": str(START + number * 10**9 + 5 * 10**8),
        "attributes": [{"key": "http.response.status_code", "value": {"intValue": "200"}}],
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}).encode() + b"\n"


def access(number: int) -> bytes:
    """A line of an access log; its number is the size and its second."""
    at = f"03/Feb/2026:12:{number // 60 % 60:02}:{number % 60:02} +0100"
    return f'203.0.113.9 - - [{at}] "POST /v1/completions HTTP/1.1" 200 {number} "-" "x"\n'.encode()


class Rotated:
    """A folder of files, and the work file that ingesting it makes."""

    def __init__(self, place: Path) -> None:
        self.logs = place / "logs"
        self.logs.mkdir()
        self.file = place / "x.duckdb"

    def write(self, name: str, content: bytes) -> Path:
        path = self.logs / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return path

    def ingest(self, *inputs: Path) -> float:
        return load(Settings(inputs=tuple(str(one) for one in inputs or (self.logs,)), db=str(self.file)))

    def ask(self, query: str) -> list[tuple[object, ...]]:
        with duckdb.connect(f"{self.file}.work", read_only=True) as con:
            return con.execute(query).fetchall()

    def traces(self) -> list[int]:
        return [int(str(trace), 16) for (trace,) in self.ask("select trace_id from raw.span order by all")]

    def inputs(self) -> list[tuple[object, ...]]:
        """Path, rows, rejects."""
        return self.ask("select path, rows, rejects from meta.input where kind != 'skipped' order by path")


@pytest.fixture
def rotated(tmp_path: Path) -> Iterator[Rotated]:
    made = Rotated(tmp_path)
    yield made
    assert made.ask("select path from meta.input where records != rows + rejects") == []
    assert made.ask(
        "select path from meta.input left join meta.reject using (file_id) "
        "group by file_id, path, rejects having rejects != count(reject.file_id)"
    ) == []  # fmt: skip


def zstd(content: bytes) -> bytes:
    return pa.Codec("zstd").compress(content, asbytes=True)


OLD, NEW = "spans-2026-07-14T05-02-14.173-size.jsonl", "spans.jsonl"


@pytest.mark.parametrize(
    ("old", "new", "packed"),
    [
        (OLD, NEW, bytes),
        (f"{OLD}.gz", NEW, gzip.compress),
        ("spans.jsonl.1", "spans.jsonl", bytes),
        ("spans.jsonl.1.zst", "spans.jsonl", zstd),
        ("spans.jsonl-20260714", "spans.jsonl-20260715", bytes),
    ],
)
def test_a_span_that_the_rotation_cut_counts_for_the_file_in_which_it_begins(
    rotated: Rotated, old: str, new: str, packed: Callable[[bytes], bytes]
):
    cut = span(2)
    rotated.write(old, packed(span(1) + cut[:100]))
    rotated.write(new, cut[100:] + span(3))
    assert rotated.ingest() == 0
    assert rotated.inputs() == sorted([(new, 1, 0), (old, 2, 0)])
    assert rotated.ask(
        "select input.path, line, trace_id[-1:] from raw.span join meta.input using (file_id) order by all"
    ) == sorted([(old, 1, "1"), (old, 2, "2"), (new, 2, "3")])


def cut_spans(rotated: Rotated, at: int, behind: bytes) -> tuple[Path, Path]:
    """A set of its own in which a span is cut at that byte."""
    cut = span(10 * at + 2)
    old = rotated.write(f"{at}/{OLD}", span(10 * at + 1) + cut[:at])
    return old, rotated.write(f"{at}/{NEW}", cut[at:] + behind)


def cut_lines(rotated: Rotated, at: int, behind: bytes) -> tuple[Path, Path]:
    cut = access(1000 + 10 * at + 2)
    old = rotated.write(f"{at}/access.log.1", access(1000 + 10 * at + 1) + cut[:at])
    return old, rotated.write(f"{at}/access.log", cut[at:] + behind)


@pytest.mark.parametrize(
    ("cut", "line"), [(cut_spans, span(10**6)), (cut_lines, access(1000))], ids=["span", "access"]
)
def test_a_line_cut_at_any_byte_is_rejoined(tmp_path: Path, cut, line: bytes):
    rotated = Rotated(tmp_path)
    for at in range(1, len(line) - 1):
        for behind in (line, b""):
            old, new = survey([str(path) for path in cut(rotated, at, behind)])
            assert old.format == new.format
            [_, begun] = old.path.read_bytes().split(b"\n")
            rest = new.path.read_bytes().split(b"\n")[0]
            whole = rejoined(old, len(old.path.read_bytes()) - len(begun), new, Told())
            assert whole == begun + rest + b"\n"


@pytest.mark.parametrize("places", [range(1, 331, 41), pytest.param(range(331), marks=pytest.mark.soak)])
def test_a_span_may_be_cut_at_any_byte(rotated: Rotated, places: range):
    for at in places:
        cut_spans(rotated, at, span(10 * at + 3))
    assert rotated.ingest() == 0
    assert rotated.traces() == [10 * at + number for at in places for number in (1, 2, 3)]
    assert rotated.ask("select distinct kind from meta.input") == [("otlp",)]


@pytest.mark.parametrize("places", [range(1, 106, 13), pytest.param(range(106), marks=pytest.mark.soak)])
def test_a_line_of_an_access_log_may_be_cut_at_any_byte(rotated: Rotated, places: range):
    for at in places:
        cut_lines(rotated, at, access(1000 + 10 * at + 3))
    assert rotated.ingest() == 0
    assert rotated.ask("select bytes_sent from raw.access order by all") == [
        (1000 + 10 * at + number,) for at in places for number in (1, 2, 3)
    ]
    assert rotated.ask("select distinct peer_address from raw.access") == [("203.0.113.9",)]


def test_what_follows_may_be_nothing_but_the_rest_of_a_span(rotated: Rotated):
    cut_spans(rotated, 100, b"")
    assert rotated.ingest() == 0
    assert (rotated.traces(), rotated.ask("select rows, rejects from meta.input order by all")) == (
        [1001, 1002], [(0, 0), (2, 0)],
    )  # fmt: skip


def test_ingesting_a_rotated_set_again_changes_nothing(rotated: Rotated):
    cut = span(2)
    rotated.write(OLD, span(1) + cut[:100])
    rotated.write(NEW, cut[100:] + span(3))
    facts = "select file_id, line, trace_id from raw.span order by all"
    rotated.ingest()
    before = rotated.inputs(), rotated.ask(facts), rotated.ask("from raw.seen order by all")
    assert rotated.ingest() == 0
    assert (rotated.inputs(), rotated.ask(facts), rotated.ask("from raw.seen order by all")) == before


def test_a_span_is_whole_once_the_file_behind_its_beginning_is_there(rotated: Rotated):
    cut = span(2)
    rotated.write(NEW, span(1) + cut[:100])
    rotated.ingest()
    assert rotated.inputs() == [(NEW, 1, 1)]
    (rotated.logs / NEW).rename(rotated.logs / OLD)
    rotated.write(NEW, cut[100:150])
    rotated.ingest()
    assert rotated.traces() == [1]
    rotated.write(NEW, cut[100:] + span(3))
    rotated.ingest()
    assert (rotated.inputs(), rotated.traces()) == ([(OLD, 2, 0), (NEW, 1, 0)], [1, 2, 3])


def test_a_span_is_whole_once_the_file_before_its_rest_is_there(rotated: Rotated):
    cut = span(2)
    new = rotated.write(NEW, cut[100:] + span(3))
    rotated.ingest(new)
    assert rotated.inputs() == [(NEW, 1, 1)]
    rotated.write(OLD, span(1) + cut[:100])
    rotated.ingest()
    assert (rotated.inputs(), rotated.traces()) == ([(OLD, 2, 0), (NEW, 1, 0)], [1, 2, 3])


def test_a_set_that_is_rotated_on_and_packed_counts_once(rotated: Rotated):
    first, second = span(2), span(4)
    rotated.write("spans.jsonl.1", span(1) + first[:100])
    rotated.write("spans.jsonl", first[100:] + span(3) + second[:50])
    rotated.ingest()
    (rotated.logs / "spans.jsonl.1").unlink()
    rotated.write("spans.jsonl.2.gz", gzip.compress(span(1) + first[:100]))
    (rotated.logs / "spans.jsonl").rename(rotated.logs / "spans.jsonl.1")
    rotated.write("spans.jsonl", second[50:] + span(5))
    assert rotated.ingest() == 0
    assert rotated.inputs() == [("spans.jsonl", 1, 0), ("spans.jsonl.1", 2, 0), ("spans.jsonl.2.gz", 2, 0)]
    assert rotated.traces() == [1, 2, 3, 4, 5]


def test_what_is_written_behind_the_rest_of_a_span_is_read_on(rotated: Rotated):
    cut = span(2)
    rotated.write(OLD, span(1) + cut[:100])
    rotated.write(NEW, cut[100:])
    rotated.ingest()
    rotated.write(NEW, cut[100:] + span(3))
    rotated.ingest()
    assert (rotated.inputs(), rotated.traces()) == ([(OLD, 2, 0), (NEW, 1, 0)], [1, 2, 3])


def test_a_record_that_a_killed_writer_left_unfinished_stays_a_reject(rotated: Rotated):
    rotated.write("access.log.1", access(61) + access(62)[:9])
    rotated.write("access.log", access(63))
    rotated.write(OLD, span(1) + span(2)[:100])
    rotated.write(NEW, span(3))
    assert rotated.ingest() == 2 / 6
    assert rotated.inputs() == [("access.log", 1, 0), ("access.log.1", 1, 1), (OLD, 1, 1), (NEW, 1, 0)]


def test_metrics_that_the_rotation_cut_have_series_of_their_own(rotated: Rotated):
    def point(name: str, number: int) -> bytes:
        data = {"dataPoints": [{"timeUnixNano": str(START + number * 10**9), "asDouble": number}]}
        metric = {"name": name, "gauge": data}
        return json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}).encode() + b"\n"

    cut = point("b", 2)
    rotated.write(OLD, point("a", 1) + cut[:70])
    rotated.write(NEW, cut[70:] + point("a", 3))
    rotated.ingest()
    assert rotated.ask(
        "select name, value from raw.sample join raw.series using (file_id, series_no) order by value"
    ) == [("a", 1.0), ("b", 2.0), ("a", 3.0)]


def test_files_of_a_set_may_be_named_one_by_one_on_the_command_line(rotated: Rotated, capsys):
    cut = span(2)
    old = rotated.write(OLD, span(1) + cut[:100])
    new = rotated.write(NEW, cut[100:])
    assert cli.main(["ingest", str(new), str(old), "--db", str(rotated.file), "--quiet"]) == cli.DONE
    assert (rotated.traces(), capsys.readouterr()) == ([1, 2], ("", ""))


def test_a_rest_of_a_span_without_its_beginning_is_a_reject(rotated: Rotated):
    rotated.write(NEW, span(2)[100:] + span(3))
    assert rotated.ingest() == 0.5
    assert rotated.inputs() == [(NEW, 1, 1)]

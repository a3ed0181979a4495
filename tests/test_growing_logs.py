"""`tracemortem ingest` on files that grow, are rotated, packed or replaced: nothing is lost or doubled."""

import gzip
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import orjson
import pytest

from tracemortem import cli
from tracemortem.settings import Settings
from tracemortem.steps.load import load

Rows = list[tuple[object, ...]]


def line(number: int) -> str:
    """A line of an access log; its number is the size and its second."""
    at = f"03/Feb/2026:12:{number // 60:02}:{number % 60:02} +0100"
    return f'203.0.113.9 - - [{at}] "POST /v1/completions HTTP/1.1" 200 {number} "-" "x"\n'


def lines(*numbers: int) -> str:
    return "".join(line(number) for number in numbers)


class Warehouse:
    """A folder of logs, and the work file that ingesting it makes."""

    def __init__(self, place: Path) -> None:
        self.logs = place / "logs"
        self.logs.mkdir()
        self.file = place / "x.duckdb"

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.logs / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def ingest(self, *inputs: Path) -> None:
        """The step of `tracemortem ingest` that reads."""
        load(Settings(inputs=tuple(str(one) for one in inputs or (self.logs,)), db=str(self.file)))

    def ingest_by_command(self) -> None:
        """All of it: seconds instead of a fraction of one."""
        assert cli.main(["ingest", str(self.logs), "--db", str(self.file), "--quiet"]) == 0

    def ask(self, query: str) -> Rows:
        with duckdb.connect(f"{self.file}.work", read_only=True) as con:
            return con.execute(query).fetchall()

    def sizes(self) -> list[object]:
        """The number of every line that stands in the tables, in order, as often as it stands there."""
        return [size for (size,) in self.ask("select bytes_sent from raw.access order by all")]

    def inputs(self) -> Rows:
        return self.ask("select path, rows, rejects from meta.input where kind != 'skipped' order by path")

    def skipped(self) -> Rows:
        return self.ask("select path, format from meta.input where kind = 'skipped' order by path")


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    made = Warehouse(tmp_path)
    yield made
    counted = made.ask("select path, records, rows + rejects from meta.input where records != rows + rejects")
    unlisted = made.ask(
        "select path, any_value(rejects), count(reject.file_id) as listed from meta.input "
        "left join meta.reject using (file_id) group by file_id, path having any_value(rejects) != listed"
    )
    strays = made.ask(
        "select distinct file_id from raw.access where file_id not in (select file_id from meta.input)"
    )
    assert (counted, unlisted, strays) == ([], [], [])


def test_of_a_file_that_grew_only_the_new_lines_are_read(warehouse: Warehouse):
    warehouse.write("app.log", lines(1, 2))
    warehouse.ingest()
    warehouse.write("app.log", lines(1, 2, 3, 4))
    warehouse.ingest()
    assert warehouse.inputs() == [("app.log", 4, 0)]
    assert warehouse.ask("select file_id, line, bytes_sent from raw.access order by line") == [
        (1, 1, 1), (1, 2, 2), (1, 3, 3), (1, 4, 4),
    ]  # fmt: skip


def test_a_packed_file_that_grew_is_compared_by_what_is_in_it(warehouse: Warehouse):
    warehouse.write("app.log.gz", gzip.compress(lines(1, 2).encode()))
    warehouse.ingest()
    warehouse.write("app.log.gz", gzip.compress(lines(1, 2, 3).encode()))
    warehouse.ingest()
    assert (warehouse.inputs(), warehouse.sizes()) == ([("app.log.gz", 3, 0)], [1, 2, 3])


def test_a_last_line_still_being_written_is_read_again_when_it_is_whole(warehouse: Warehouse):
    warehouse.write("app.log", lines(1, 2) + line(3)[:40])
    warehouse.ingest()
    assert warehouse.inputs() == [("app.log", 2, 1)]
    warehouse.write("app.log", lines(1, 2, 3, 4))
    warehouse.ingest()
    assert (warehouse.inputs(), warehouse.sizes()) == ([("app.log", 4, 0)], [1, 2, 3, 4])
    assert warehouse.ask("select line from raw.access order by line") == [(1,), (2,), (3,), (4,)]


def test_a_last_line_that_was_whole_but_for_its_end_is_kept(warehouse: Warehouse):
    warehouse.write("app.log", lines(1, 2).removesuffix("\n"))
    warehouse.ingest()
    warehouse.write("app.log", lines(1, 2, 3))
    warehouse.ingest()
    assert warehouse.ask("select line, bytes_sent from raw.access order by line") == [(1, 1), (2, 2), (3, 3)]


def test_a_last_line_that_was_taken_for_a_whole_one_is_replaced(warehouse: Warehouse):
    event = '{"time": "2026-02-03T11:00:00Z", "kind": "deploy", "text": "one"}'
    warehouse.write("events.jsonl", f"{event}\n{event}")
    warehouse.ingest()
    warehouse.write("events.jsonl", f"{event}\n{event}, and no JSON any more\n{event}\n")
    warehouse.ingest()
    assert warehouse.inputs() == [("events.jsonl", 2, 1)]
    assert warehouse.ask("select line from raw.event order by line") == [(1,), (3,)]


def test_rejects_of_what_was_added_have_the_numbers_of_their_lines(warehouse: Warehouse):
    warehouse.write("app.log", lines(1, 2))
    warehouse.ingest()
    warehouse.write("app.log", lines(1, 2, 3) + "junk\n" + lines(4))
    warehouse.ingest()
    assert warehouse.ask("select line, excerpt from meta.reject") == [(4, "junk")]
    assert (warehouse.inputs(), warehouse.sizes()) == ([("app.log", 4, 1)], [1, 2, 3, 4])


@pytest.mark.parametrize("packed", [str.encode, lambda text: gzip.compress(text.encode())])
def test_a_rotated_log_is_the_same_under_its_new_name(warehouse: Warehouse, packed: Callable[[str], bytes]):
    warehouse.write("app.log", lines(1, 2))
    warehouse.ingest()
    warehouse.write("app.log.1", packed(lines(1, 2)))
    warehouse.write("app.log", lines(3))
    warehouse.ingest()
    assert warehouse.inputs() == [("app.log", 1, 0), ("app.log.1", 2, 0)]
    assert warehouse.sizes() == [1, 2, 3]


def test_of_a_rotated_log_what_was_written_before_the_rotation_is_read_too(warehouse: Warehouse):
    warehouse.write("app.log", lines(1, 2))
    warehouse.ingest()
    warehouse.write("app.log.1", gzip.compress(lines(1, 2, 3).encode()))
    warehouse.write("app.log", lines(4))
    warehouse.ingest()
    assert warehouse.inputs() == [("app.log", 1, 0), ("app.log.1", 3, 0)]
    assert warehouse.sizes() == [1, 2, 3, 4]


def test_a_log_may_be_rotated_and_packed_night_after_night(warehouse: Warehouse):
    kept: list[str] = []
    for night in range(3):
        kept.append(lines(10 * night + 1, 10 * night + 2))
        for name in list(warehouse.logs.iterdir()):
            name.unlink()
        for age, text in enumerate(reversed(kept)):
            name = f"app.log.{age}" if age else "app.log"
            if age > 1:
                warehouse.write(f"{name}.gz", gzip.compress(text.encode()))
            else:
                warehouse.write(name, text)
        warehouse.ingest_by_command()
        warehouse.write("app.log", kept[-1] + line(10 * night + 3))  # a last one before the rotation
        kept[-1] += line(10 * night + 3)
    warehouse.ingest_by_command()
    assert warehouse.sizes() == [1, 2, 3, 11, 12, 13, 21, 22, 23]
    assert warehouse.inputs() == [
        ("app.log", 3, 0), ("app.log.1", 3, 0), ("app.log.2.gz", 3, 0),
    ]  # fmt: skip
    requests = duckdb.connect(str(warehouse.file), read_only=True).sql("from norm.request")
    assert requests.aggregate("count(*)").fetchall() == [(9,)]
    assert warehouse.ask("select path from meta.input where replaced_by is not null") == []


def test_running_again_on_what_is_there_changes_nothing(warehouse: Warehouse):
    warehouse.write("app.log", lines(3))
    warehouse.write("app.log.1", lines(1, 2))
    warehouse.write("copy.gz", gzip.compress(lines(1, 2).encode()))
    warehouse.write("README", "nothing to see\n")
    warehouse.ingest()
    content = "select path, sha256, bytes, kind, format, rows, rejects, first_at from meta.input order by all"
    before = (warehouse.ask(content), warehouse.ask("from raw.seen order by seen_no"), warehouse.sizes())
    for _ in range(2):
        warehouse.ingest()
    assert before == (
        warehouse.ask(content), warehouse.ask("from raw.seen order by seen_no"), warehouse.sizes(),
    )  # fmt: skip


def test_a_packed_copy_in_the_same_run_is_listed_as_one(warehouse: Warehouse):
    warehouse.write("app.log", lines(1, 2))
    warehouse.write("copy.log.gz", gzip.compress(lines(1, 2).encode()))
    warehouse.ingest()
    assert warehouse.sizes() == [1, 2]
    assert warehouse.skipped() == [("copy.log.gz", "it holds the same as app.log")]


@pytest.mark.parametrize("names", [("a.log", "b.log"), ("b.log", "a.log")])
def test_of_two_copies_of_which_one_is_longer_each_line_counts_once(warehouse: Warehouse, names):
    shorter, longer = names
    warehouse.write(shorter, lines(*range(8)))
    warehouse.write(longer, lines(*range(9)))
    for _ in range(2):
        warehouse.ingest()
        assert warehouse.sizes() == list(range(9))
        assert warehouse.inputs() == [(longer, 9, 0)]
        assert warehouse.skipped() == [(shorter, f"it is the beginning of {longer}, of which more was read")]


@pytest.mark.parametrize("names", [("a.log", "b.log"), ("b.log", "a.log")])
def test_two_logs_that_begin_with_the_same_few_lines_are_two(warehouse: Warehouse, names):
    shorter, longer = names
    warehouse.write(shorter, lines(1))
    warehouse.write(longer, lines(1, 2))
    for _ in range(2):
        warehouse.ingest()
        assert warehouse.sizes() == [1, 1, 2]


def test_what_replaces_a_file_is_read_beside_it_and_said(warehouse: Warehouse):
    warehouse.write("app.log", lines(1, 2))
    warehouse.ingest()
    warehouse.write("app.log", lines(7))
    warehouse.ingest()
    assert warehouse.sizes() == [1, 2, 7]
    assert warehouse.ask("select file_id, path, rows, replaced_by from meta.input order by file_id") == [
        (1, "app.log", 2, 2), (2, "app.log", 1, None),
    ]  # fmt: skip


def test_logs_of_two_machines_may_have_one_name(warehouse: Warehouse):
    for number, host in enumerate(("one", "two"), start=1):
        (warehouse.logs / host).mkdir()
        warehouse.write(f"{host}/app.log", lines(number))
    warehouse.ingest(warehouse.logs / "one", warehouse.logs / "two")
    assert warehouse.sizes() == [1, 2]
    assert warehouse.ask("select path from meta.input where replaced_by is not null") == []


def test_a_file_that_was_empty_is_no_longer_listed_as_such_once_it_is_read(warehouse: Warehouse):
    warehouse.write("app.log", "")
    warehouse.write("other.log", lines(1))
    warehouse.ingest()
    assert [path for path, _ in warehouse.skipped()] == ["app.log"]
    warehouse.write("app.log", lines(2))
    warehouse.ingest()
    assert (warehouse.skipped(), warehouse.inputs()) == ([], [("app.log", 1, 0), ("other.log", 1, 0)])


def test_a_file_whose_lines_need_its_header_is_read_anew_when_it_grew(warehouse: Warehouse):
    header = "timestamp, uuid, clocks.sm [MHz]\n"
    rows = [f"2026/02/03 11:00:0{second}.000, GPU-1, 198{second} MHz\n" for second in range(4)]
    warehouse.write("smi.csv", header + "".join(rows[:2]))
    warehouse.ingest()
    warehouse.write("smi.csv", header + "".join(rows))
    warehouse.ingest()
    assert warehouse.inputs() == [("smi.csv", 4, 0)]
    assert warehouse.ask("select line, value from raw.sample order by line") == [
        (2, 1980.0), (3, 1981.0), (4, 1982.0), (5, 1983.0),
    ]  # fmt: skip
    assert warehouse.ask("select count(*) from raw.series") == [(1,)]


def otlp_metric(name: str, second: int) -> str:
    point = {"timeUnixNano": str((1770116400 + second) * 10**9), "asDouble": second}
    metric = {"name": name, "gauge": {"dataPoints": [point]}}
    return orjson.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}).decode() + "\n"


def test_series_of_what_was_added_do_not_mix_with_those_before(warehouse: Warehouse):
    warehouse.write("m.jsonl", otlp_metric("a", 1) + otlp_metric("b", 2))
    warehouse.ingest()
    warehouse.write("m.jsonl", otlp_metric("a", 1) + otlp_metric("b", 2) + otlp_metric("c", 3))
    warehouse.ingest()
    joined = "from raw.sample inner join raw.series using (file_id, series_no)"
    assert warehouse.ask(f"select name, line, value {joined} order by line") == [
        ("a", 1, 1.0),
        ("b", 2, 2.0),
        ("c", 3, 3.0),
    ]


def test_a_container_log_that_grew_within_a_line_cut_in_pieces_is_read_anew(warehouse: Warehouse):
    def cri(text: str, flag: str) -> str:
        return f"2026-02-03T11:00:00.000000000Z stdout {flag} {text}\n"

    whole = line(2).strip()
    before = cri(line(1).strip(), "F") + cri(whole[:30], "P")
    warehouse.write("app.log", before)
    warehouse.ingest()
    warehouse.write("app.log", before + cri(whole[30:], "F"))
    warehouse.ingest()
    assert (warehouse.inputs(), warehouse.sizes()) == ([("app.log", 2, 0)], [1, 2])


def test_a_file_named_that_holds_nothing_new_is_no_error(warehouse: Warehouse):
    path = warehouse.write("app.log", lines(1))
    warehouse.ingest(path)
    warehouse.ingest(path)
    copied = Path(shutil.copy(path, warehouse.logs / "elsewhere.log"))
    warehouse.ingest(copied)
    assert warehouse.inputs() == [("elsewhere.log", 1, 0)]

"""A run that is killed, whenever that is, leaves nothing half; the next one ends as if it had not been."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from tracemortem import cli, folders

# runs the command line, and dies by SIGKILL right before a call of one of its functions; 0: counts the calls
_RUNNER = """
import functools, importlib, os, signal, sys
from tracemortem import cli, pipeline

where, number, *arguments = sys.argv[1:]
module, _, path = where.partition(":")
*parents, name = path.split(".")
owner = functools.reduce(getattr, parents, importlib.import_module(module))
real, calls = getattr(owner, name), 0

@functools.wraps(real)
def counted(*args, **kwargs):
    global calls
    calls += 1
    if calls == int(number):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs)

setattr(owner, name, counted)
code = cli.main(arguments)
print(calls, file=sys.stderr)
sys.exit(code)
"""
STATEMENT = "tracemortem.warehouse.store:Store.run"
# moment -> function and the number of its call
INGEST = {
    "the second file is half loaded": ("tracemortem.warehouse.store:Store.put_input", 2),
    "all files are loaded, and the record between two of them is in pieces": (
        "tracemortem.steps.load:rejoin",
        1,
    ),
    "the record has been put together, and its rest not been taken away": (
        "tracemortem.warehouse.ledger:drop",
        1,
    ),
    "facts are built": ("tracemortem.steps.model:build", 1),
    "the new file is not yet in its place": ("tracemortem.warehouse.publish:_to_disk", 1),
}
POSTMORTEM = {
    "the pages are written, and no tables": ("tracemortem.pipeline:publish", 1),
    "nothing is loaded": ("tracemortem.pipeline:load", 1),
    "nothing is explained": ("tracemortem.pipeline:explain", 1),
}
ROUND_THE_RECORD = (
    "all files are loaded, and the record between two of them is in pieces",
    "the record has been put together, and its rest not been taken away",
    "the new file is not yet in its place",
)
MOMENTS = [
    *(pytest.param("ingest", *at, id=f"ingest, {name}") for name, at in INGEST.items()),
    *(pytest.param("postmortem", *at, id=f"postmortem, {name}") for name, at in POSTMORTEM.items()),
]


def span(number: int) -> bytes:
    """A line of the Collector's file exporter with one span."""
    start = 1_776_994_500_000_000_000 + number * 10**9
    one = {
        "traceId": f"{number:032x}",
        "spanId": f"{number:016x}",
        "name": "chat",
        "kind": 2,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 5 * 10**8),
        "attributes": [{"key": "http.response.status_code", "value": {"intValue": "200"}}],
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}).encode() + b"\n"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rotated files with a record cut between them, an access log with a line that is none, an event."""
    folder = tmp_path_factory.mktemp("logs")
    whole = b"".join(span(number) for number in range(1, 41))
    cut = whole.index(b"traceId", len(whole) // 2)
    (folder / "traces-2026-04-24T02-10-00.000.json").write_bytes(whole[:cut])
    (folder / "traces.json").write_bytes(whole[cut:])
    (folder / "access.log").write_bytes(
        b"".join(
            b'203.0.113.9 - - [24/Apr/2026:01:35:%02d +0000] "GET /%d HTTP/1.1" 200 9 "-" "x"\n' % (n, n)
            for n in range(20)
        )
        + b"no request\n"
    )
    (folder / "events.jsonl").write_text(
        '{"time": "2026-04-24T01:35:09Z", "kind": "deploy", "text": "engine 2"}\n'
    )
    return folder


@dataclass(frozen=True)
class Command:
    """A command line of tracemortem that writes into one folder."""

    arguments: tuple[str, ...]
    out: Path

    def run(self) -> None:
        assert cli.main([*self.arguments, "--quiet"]) in {cli.DONE, cli.TOO_MANY_REJECTS}

    def killed(self, where: str, number: int) -> int:
        """Run it in a process of its own, which dies; returns how many calls there were, were it not to."""
        ended = subprocess.run(
            [sys.executable, "-c", _RUNNER, where, str(number), *self.arguments, "--quiet"],
            env={**os.environ, "PYTHONPATH": str(Path(folders.__file__).parents[1])},
            capture_output=True,
            text=True,
            check=False,
        )
        if number:
            assert ended.returncode == -signal.SIGKILL, ended.stderr
            return number
        return int(ended.stderr.split()[-1])

    def left(self) -> dict[str, object]:
        """Every file by name; of tables their rows, of the rest the bytes."""
        return {
            path.name: tables(path) if path.suffix == ".duckdb" else path.read_bytes()
            for path in self.out.iterdir()
            if path.suffix != ".work"
        }

    def is_whole_or_absent(self) -> bool:
        """Whether the published tables are not there or can be read."""
        return all(tables(path) for path in self.out.glob("*.duckdb"))


def tables(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """The rows of each table, but for when and by which run they were made."""
    with duckdb.connect(path, read_only=True) as con:
        names = con.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()
        of = {
            "meta.input": "select * exclude ingested_in_run from meta.input order by all",
            "meta.run": "select product_version from meta.run group by all",
            "meta.published": "select product_version, schema_version from meta.published",
        }
        return {name: con.execute(of.get(name, f"from {name} order by all")).fetchall() for (name,) in names}


def ingest(logs: Path, out: Path) -> Command:
    out.mkdir()
    return Command(("ingest", str(logs), "--db", str(out / "x.duckdb")), out)


def postmortem(logs: Path, out: Path) -> Command:
    out.mkdir()
    return Command(("postmortem", str(logs), "--out", str(out)), out)


@pytest.fixture(scope="module", autouse=True)
def same_moment() -> object:
    """Reports say when they were made: here, always at one moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1777000000")
        yield


@pytest.fixture(scope="module")
def ingested(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What a run that nobody killed leaves."""
    command = ingest(logs, tmp_path_factory.mktemp("never") / "out")
    command.run()
    return command.left()


@pytest.fixture(scope="module")
def told(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    command = postmortem(logs, tmp_path_factory.mktemp("never") / "out")
    command.run()
    return command.left()


def test_the_record_between_the_files_counts_once_where_nobody_was_killed(ingested: dict[str, object]):
    found = ingested["x.duckdb"]
    assert isinstance(found, dict)
    assert (len(found["norm.span"]), len(found["meta.reject"]), len(found["norm.event"])) == (40, 1, 1)


@pytest.mark.slow
def test_an_ingest_that_is_killed_at_one_moment_after_another_ends_the_same(
    logs: Path, ingested: dict[str, object], tmp_path: Path
):
    command = ingest(logs, tmp_path / "out")
    for name in ROUND_THE_RECORD:
        command.killed(*INGEST[name])
        assert command.is_whole_or_absent(), name
    command.run()
    assert command.left() == ingested


@pytest.mark.slow
def test_a_postmortem_that_is_killed_before_it_publishes_ends_the_same_when_run_again(
    logs: Path, told: dict[str, object], tmp_path: Path
):
    command = postmortem(logs, tmp_path / "out")
    command.killed(*POSTMORTEM["the pages are written, and no tables"])
    command.run()
    assert command.left() == told


@pytest.mark.soak
@pytest.mark.parametrize(("name", "where", "number"), MOMENTS)
def test_a_run_that_was_killed_at_one_moment_ends_the_same_when_run_again(
    logs: Path,
    ingested: dict[str, object],
    told: dict[str, object],
    tmp_path: Path,
    name: str,
    where: str,
    number: int,
):
    command = {"ingest": ingest, "postmortem": postmortem}[name](logs, tmp_path / "out")
    command.killed(where, number)
    assert command.is_whole_or_absent()
    command.run()
    assert command.left() == {"ingest": ingested, "postmortem": told}[name]


@pytest.mark.soak
def test_an_ingest_killed_again_and_again_before_one_statement_or_another_ends_the_same(
    logs: Path, ingested: dict[str, object], tmp_path: Path
):
    statements = ingest(logs, tmp_path / "counted").killed(STATEMENT, 0)
    step = max(statements // 40, 1)
    for number in range(1, statements, step):
        command = ingest(logs, tmp_path / f"at {number}")
        command.killed(STATEMENT, number)
        assert command.is_whole_or_absent(), number
        if number + step < statements:  # and the second time, elsewhere, with something loaded or not
            command.killed(STATEMENT, max(number // 2, 1))
        command.run()
        assert command.left() == ingested, number


@pytest.mark.soak
def test_a_postmortem_of_an_incident_killed_at_many_moments_ends_the_same(repo_root: Path, tmp_path: Path):
    sample = repo_root / "data_samples" / "seed_night"
    never = postmortem(sample, tmp_path / "never")
    never.run()
    statements = postmortem(sample, tmp_path / "counted").killed(STATEMENT, 0)
    for number in range(1, statements, max(statements // 12, 1)):
        command = postmortem(sample, tmp_path / f"at {number}")
        command.killed(STATEMENT, number)
        assert command.is_whole_or_absent(), number
        command.run()
        assert counted(command.left()) == counted(never.left()), number


def counted(left: dict[str, object]) -> dict[str, object]:
    """The same, but of each table how many rows: on many threads, sums of doubles differ a little."""
    return {
        name: {table: len(rows) for table, rows in content.items()} if isinstance(content, dict) else content
        for name, content in left.items()
    }

"""The same input gives the same reports and the same tables, on however many threads, wherever it is run."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pytest

pytestmark = pytest.mark.slow

REPORTS = ("report.json", "report.md", "report.html")
RUN = """
import sys
from tracemortem import cli
from tracemortem.steps import opened
from tracemortem.warehouse.store import Store

threads, *given = sys.argv[1:]
opened.store = lambda settings, **_: Store(settings.published(), threads=int(threads))
sys.exit(cli.main(["postmortem", *given, "--out", "out", "--quiet"]))
"""
# The night again, as programs tell it that write the time of their machine and leave out zone, year or both.
ZONELESS = {
    "haproxy.log": "".join(
        f"192.0.2.7:40{n:03} [15/Nov/2023:{1 + n // 60:02}:{n % 60:02}:07.250] fe be/s1 0/0/1/{n}/{n + 9}"
        f' 200 512 - - ---- 1/1/1/1/0 0/0 "POST /v1/completions HTTP/1.1"\n'
        for n in range(30, 120)
    ),
    "gpu.csv": "timestamp, index, uuid, utilization.gpu [%], power.draw [W]\n"
    + "".join(f"2023/11/15 02:{n:02}:53.353, 0, GPU-9, {n} %, 631.95 W\n" for n in range(60)),
    "vllm.log": "".join(
        f"(EngineCore pid=9) INFO 11-15 02:{n:02}:11 [loggers.py:310] Engine 000: Avg prompt throughput: "
        f"79.{n} tokens/s, Avg generation throughput: 3.7 tokens/s, Running: 1 reqs, Waiting: 0 reqs, "
        f"GPU KV cache usage: {n}.4%, Prefix cache hit rate: 12.0%\n"
        for n in range(60)
    ),
    "smi-20231115T0210.prom": 'DCGM_FI_DEV_SM_CLOCK{gpu="9",UUID="GPU-9",Hostname="n9"} 1980\n',
    "smi.prom": 'DCGM_FI_DEV_SM_CLOCK{gpu="8",UUID="GPU-8",Hostname="n9"} 1980\n',
}
CHANGED_S = 1_700_015_000  # 02:23:20 UTC that night: what tells the year, and when smi.prom was taken


def made(folder: Path, *inputs: Path, threads: int, zone: str, options: Sequence[str] = ()) -> None:
    """A postmortem of the inputs in a process of that time zone and so many threads, into folder/out."""
    folder.mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "pipelines"),
        "SOURCE_DATE_EPOCH": "1777000000",
        "POLARS_MAX_THREADS": str(threads),
        "TZ": zone,
    }
    given = [sys.executable, "-c", RUN, str(threads), *map(str, inputs), *options]
    subprocess.run(given, env=environment, cwd=folder, check=True)


def tables(folder: Path) -> Mapping[str, tuple[object, ...]]:
    """Each table of the DuckDB file: how many rows it has, and a sum of hashes of them, whole."""
    with duckdb.connect(folder / "out" / "tracemortem.duckdb", read_only=True) as con:
        con.execute("set TimeZone = 'UTC'")
        names = con.execute("select schema_name, table_name from duckdb_tables() order by all").fetchall()
        return {
            f"{schema}.{table}": con.sql(
                f'select count(*), sum(hash(one)::hugeint) from "{schema}"."{table}" one'
            ).fetchall()[0]
            for schema, table in names
        }


def differing(one: Path, other: Path) -> list[str]:
    """What the two runs made that is not the same."""
    reports = [
        name for name in REPORTS if (one / "out" / name).read_bytes() != (other / "out" / name).read_bytes()
    ]
    first, second = tables(one), tables(other)
    assert first.keys() == second.keys()
    return [*reports, *(name for name in first if first[name] != second[name])]


@pytest.fixture(scope="module")
def night(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """The sample incident, and beside it what tells of that night without a zone."""
    folder = tmp_path_factory.mktemp("zoneless")
    for name, text in ZONELESS.items():
        (folder / name).write_text(text)
        os.utime(folder / name, (CHANGED_S, CHANGED_S))
    return repo_root / "data_samples" / "seed_night", folder


@pytest.fixture(scope="module")
def alone(night: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run on one thread, where it is UTC."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    made(folder, *night, threads=1, zone="UTC", options=("--tz", "Europe/Berlin"))
    return folder


def test_times_without_zone_and_year_are_those_of_the_zone_that_was_given(alone: Path):
    with duckdb.connect(alone / "out" / "tracemortem.duckdb", read_only=True) as con:
        con.execute("set TimeZone = 'UTC'")
        found = con.execute(
            "select path, first_at::varchar, last_at::varchar from meta.input "
            "where path in (select unnest($1)) order by path",
            [list(ZONELESS)],
        ).fetchall()
    assert found == [
        ("gpu.csv", "2023-11-15 01:00:53.353+00", "2023-11-15 01:59:53.353+00"),
        ("haproxy.log", "2023-11-15 00:30:07.25+00", "2023-11-15 01:59:07.378+00"),
        ("smi-20231115T0210.prom", "2023-11-15 01:10:00+00", "2023-11-15 01:10:00+00"),
        ("smi.prom", "2023-11-15 02:23:20+00", "2023-11-15 02:23:20+00"),
        ("vllm.log", "2023-11-15 01:00:11+00", "2023-11-15 01:59:11+00"),
    ]


@pytest.mark.parametrize(("threads", "zone"), [(2, "America/New_York"), (4, "Asia/Kolkata")])
def test_neither_the_threads_nor_the_zone_of_the_machine_changes_a_byte(
    threads: int, zone: str, night: tuple[Path, ...], alone: Path, tmp_path: Path
):
    made(tmp_path / "run", *night, threads=threads, zone=zone, options=("--tz", "Europe/Berlin"))
    assert differing(alone, tmp_path / "run") == []


@pytest.mark.soak  # like the one above, on a recording twice as large
def test_one_thread_and_four_make_the_same_of_a_whole_recording(shared: Path, tmp_path: Path):
    recording = shared / "incidents" / "seed_incident"
    for threads in (1, 4):
        made(tmp_path / f"{threads}", recording, threads=threads, zone="UTC")
    assert differing(tmp_path / "1", tmp_path / "4") == []

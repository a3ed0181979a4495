"""The published file in the DuckDB versions it is promised to, each in a throwaway environment."""

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tracemortem.warehouse.publish import publish

pytestmark = pytest.mark.slow

LOOK = textwrap.dedent("""
    import duckdb, json, sys
    with duckdb.connect(sys.argv[1], read_only=True) as con:
        con.execute("set TimeZone = 'UTC'")
        print(json.dumps({
            "version": duckdb.__version__,
            "rows": con.execute("select minute::varchar, n from mart.minute order by all").fetchall(),
            "summary": [row[0] for row in con.execute("summarize mart.minute").fetchall()],
            "comments": con.execute("select comment from duckdb_columns() where schema_name = 'mart' "
                                    "order by column_index").fetchall(),
            "about": con.execute("select comment from duckdb_tables() where schema_name = 'mart'").fetchall(),
            "value": con.execute("select ratio(1, 4), ratio(1, 0)").fetchall(),
            "busy": con.execute("select * from busy(1)").fetchall(),
        }))
""")


@pytest.fixture(scope="module", params=["1.4.5", "1.5.6"])
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A DuckDB version and the Python that has it."""
    version: str = request.param
    venv = tmp_path_factory.mktemp(f"duckdb{version}")
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True, capture_output=True)
    python = venv / "bin" / "python"
    pip = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--retries", "1", f"duckdb=={version}"],
        check=False,
        capture_output=True,
        text=True,
    )
    if pip.returncode:
        pytest.skip(f"pip cannot fetch duckdb {version} here: {pip.stderr.strip().splitlines()[-1]}")
    return version, python


def test_an_older_duckdb_reads_rows_comments_and_macros(
    reader: tuple[str, Path], tmp_path: Path, built: Callable[..., Path]
):
    version, python = reader
    file = tmp_path / "out.duckdb"
    publish(
        tmp_path / "out.duckdb.work",
        file,
        sql=built(),
        published_at=datetime(2026, 2, 3, 12, tzinfo=UTC),
        product_version="0",
    )
    seen = subprocess.run([python, "-c", LOOK, str(file)], check=True, capture_output=True, text=True).stdout
    assert json.loads(seen) == {
        "version": version,
        "rows": [[f"2026-02-03 11:0{n}:00+00", n] for n in range(3)],
        "summary": ["minute", "at", "n"],
        "comments": [["it's the start [UTC]"], ["a word of the grammar [UTC]"], ["requests [count]"]],
        "about": [["One row per minute."]],
        "value": [[0.25, None]],
        "busy": [[2]],
    }

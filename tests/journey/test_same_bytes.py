"""The same input gives the same bytes, on however many threads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

RUN = """
import sys
from tracemortem import cli
from tracemortem.steps import opened
from tracemortem.warehouse.store import Store

threads, recording, out = sys.argv[1:]
opened.store = lambda settings: Store(settings.published(), threads=int(threads))
sys.exit(cli.main(["postmortem", recording, "--out", out, "--quiet"]))
"""


def test_the_report_is_the_same_on_one_thread_and_on_seven(repo_root: Path, tmp_path: Path):
    recording = str(repo_root / "data_samples" / "seed_night")
    for threads in ("1", "7"):
        environment = {
            **os.environ,
            "PYTHONPATH": str(repo_root / "pipelines"),
            "SOURCE_DATE_EPOCH": "1777000000",
            "POLARS_MAX_THREADS": threads,
        }
        given = [sys.executable, "-c", RUN, threads, recording, str(tmp_path / threads)]
        subprocess.run(given, env=environment, check=True)
    for name in ("report.json", "report.md", "report.html"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "7" / name).read_bytes()

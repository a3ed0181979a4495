"""What a command costs is that of the command, whole; a peer that is missing is a row that says so."""

import json
import os
import subprocess
import sys
from subprocess import CalledProcessError

import pytest
from measure import Cost, measure, table

MISSING = "from measure import unavailable; raise unavailable('peer is not installed')"


def test_cpu_time_and_memory_are_those_of_the_command(repo_root):
    busy = "x = bytearray(1) * (1 << 28)\nimport time\nwhile time.process_time() < 0.3: pass\nprint(len(x))"
    asked = (
        "import json, sys, dataclasses; from measure import measure; "
        f"cost = measure('busy', [sys.executable, '-c', {busy!r}], runs=1)"
    )
    told = subprocess.run(  # from a small process: a child's peak is at least that of the one that starts it
        [sys.executable, "-c", f"{asked}; print(json.dumps(dataclasses.asdict(cost)))"],
        env={**os.environ, "PYTHONPATH": str(repo_root / "tests" / "bench")},
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    cost = Cost(**json.loads(told.stdout))
    assert cost.said == str(1 << 28)
    assert 0.3 <= (cost.cpu_s or 0) <= 1.0
    assert (cost.wall_s or 0) >= 0.3
    assert 0.25 <= (cost.peak_gib or 0) <= 0.4


def test_a_command_that_fails_is_an_error():
    with pytest.raises(CalledProcessError):
        measure("fails", [sys.executable, "-c", "raise SystemExit(1)"], runs=1)


def test_a_peer_that_is_missing_is_a_row_that_says_so(monkeypatch, repo_root):
    monkeypatch.setenv("PYTHONPATH", str(repo_root / "tests" / "bench"))
    cost = measure("peer", [sys.executable, "-c", MISSING])
    assert cost == Cost("peer", None, None, None, "peer is not installed")


def test_a_table_has_a_row_a_method_and_the_rate_of_each():
    costs = [Cost("fast", 2.0, 3.0, 0.5, "7 rows"), Cost("peer", None, None, None, "not here")]
    assert table(costs, size_mb=344.0) == (
        "| method | wall s | CPU s | GiB | MB/s | result |\n"
        "|---|---|---|---|---|---|\n"
        "| fast | 2.00 | 3.00 | 0.50 | 172 | 7 rows |\n"
        "| peer | - | - | - | - | not here |\n"
    )

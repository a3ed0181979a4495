"""What ingesting takes in memory does not grow with its input."""

import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import nginx_log
import pytest
from measure import measure
from peak_memory import costs

CHUNK = 250_000  # lines that are written again and again, each time with ids of their own


@pytest.mark.soak
def test_a_size_of_an_input_is_a_row(monkeypatch: pytest.MonkeyPatch, repo_root: Path):
    monkeypatch.setenv("PYTHONPATH", str(repo_root / "pipelines"))
    (cost,) = costs(["Prometheus text"], [2], 0.01)
    assert cost.name == "Prometheus text, 2,500 rows, 1 MB"
    assert 0.1 < (cost.peak_gib or 0) < 1


@pytest.mark.soak
def test_a_log_of_4_gb_is_ingested_in_less_than_one_and_a_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repo_root: Path
):
    monkeypatch.setenv("PYTHONPATH", str(repo_root / "pipelines"))
    file, _ = nginx_log.written(tmp_path, CHUNK)
    chunk = file.read_bytes()
    with file.open("wb") as log:
        log.writelines(_until(4_000_000_000, chunk))
    del chunk
    command = [sys.executable, "-m", "tracemortem", "ingest", file.parent, "--quiet"]
    cost = measure("4 GB", [*command, "--db", tmp_path / "out.duckdb"], runs=1)
    file.unlink()
    assert (cost.peak_gib or 0) < 1.5


def _until(size: int, chunk: bytes) -> Iterator[bytes]:
    """The chunk over and over, until so many bytes are made."""
    made = 0
    for number in count():
        if made >= size:
            return
        again = chunk.replace(b" rid=", b" rid=%03x" % number)
        made += len(again)
        yield again

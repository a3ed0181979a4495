"""A line of any length costs bounded memory and time, through the reader of every format."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fuzz.seeds import seeds

TESTS = Path(__file__).resolve().parents[1]
FORMATS = sorted({seed.format for seed in seeds()})
SECONDS = 30.0  # of CPU; a reader that is quadratic takes hours


def costs(size: int, formats: Sequence[str]) -> list[dict[str, Any]]:
    """What long_line.py tells of the formats."""
    done = subprocess.run(
        [sys.executable, TESTS / "fuzz" / "long_line.py", str(size), *formats],
        env={**os.environ, "PYTHONPATH": f"{TESTS.parent / 'pipelines'}:{TESTS}"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def of_20_mb() -> list[dict[str, Any]]:
    """Of all formats, one after another in one process: each may find what the one before left."""
    return costs(20 << 20, FORMATS)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_a_line_of_20_mb_is_read_or_refused_in_bounded_memory(of_20_mb, form: str):
    found = [cost for cost in of_20_mb if cost["format"] == form]
    assert {cost["shape"] for cost in found} == {"text", "blank", "again"}
    assert [cost for cost in found if cost["peak_mib"] > 1024 or cost["cpu_s"] > SECONDS] == []


@pytest.mark.soak
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("size", [60 << 20, 100 << 20], ids=["60 MiB", "100 MiB"])
def test_a_longer_line_is_read_or_refused_in_bounded_memory(form: str, size: int):
    found = costs(size, [form])
    assert found
    assert [cost for cost in found if cost["peak_mib"] > 1536 or cost["cpu_s"] > SECONDS] == []

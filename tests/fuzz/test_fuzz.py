"""Whatever a file holds, it is refused with a sentence, or each of its records is stored or a reject."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fuzz.held import Reference, held, reference
from fuzz.mutate import KINDS, Damage, damaged
from fuzz.seeds import seeds
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracemortem.sources.registry import known

TESTS = Path(__file__).resolve().parents[1]
WORKERS = 2
ALONE = {
    **os.environ,
    "PYTHONPATH": f"{TESTS.parent / 'pipelines'}:{TESTS}",
    "POLARS_MAX_THREADS": "1",  # the files are small
}
CORPUS = TESTS.parents[1] / "shared" / "corpus"
SEEDS = list(seeds())
DAMAGES = st.lists(
    st.builds(
        Damage,
        st.sampled_from(sorted(KINDS)),
        st.integers(0, 1 << 20),
        st.integers(0, 4000),
        st.integers(0, 1 << 16),
    ),
    min_size=1,
    max_size=6,
)


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory) -> tuple[Reference, Path]:
    """How the seeds are read as they are, and a place for the damaged ones."""
    folder = tmp_path_factory.mktemp("fuzz")
    return reference(SEEDS, folder), folder / "case"


def test_every_format_that_is_read_has_a_seed():
    named = {re.sub(":.*", ":NAME", seed.format) for seed in SEEDS}
    assert named == {one.name for one in known()}


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(SEEDS), st.sampled_from(SEEDS), DAMAGES, st.booleans())
def test_a_damaged_file_is_accounted_for_whichever_way_it_is_read(undamaged, seed, other, damages, is_told):
    known_well, path = undamaged
    held(damaged(seed.data, damages, other.data), path, known_well, seed.format if is_told else "")


@pytest.mark.parametrize(
    "cases",
    [pytest.param(2_000, marks=pytest.mark.slow), pytest.param(100_000, marks=pytest.mark.soak)],
)
def test_of_many_damaged_files_none_is_lost_and_none_takes_long(cases: int):
    with ThreadPoolExecutor(WORKERS) as pool:
        told = list(pool.map(run, [cases // WORKERS] * WORKERS, range(cases, cases + WORKERS)))
    assert [one["failures"] for one in told] == [[]] * WORKERS
    came = sum((Counter(one["came"]) for one in told), Counter[str]())
    assert came.total() == cases
    assert came["read"] > cases / 2


@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="atheris has no build for this machine"
)
@pytest.mark.parametrize(
    "runs", [pytest.param(500, marks=pytest.mark.slow), pytest.param(20_000, marks=pytest.mark.soak)]
)
def test_no_file_grown_towards_code_that_none_reached_is_lost(runs: int, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, TESTS / "fuzz" / "guided.py", str(runs), "1", tmp_path],
        env=ALONE,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=runs,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    assert f"Done {runs} runs" in done.stderr
    assert "NEW" in done.stderr, "nothing new was reached, so nothing was watched"


def run(cases: int, seed: int) -> Any:
    """What run.py tells, in a process of its own, so that one that dies is a failure and not the end."""
    done = subprocess.run(
        [sys.executable, TESTS / "fuzz" / "run.py", str(cases), str(seed), CORPUS],
        env=ALONE,
        capture_output=True,
        timeout=cases,  # one second each would be far too long
        check=False,
    )
    assert done.stdout, done.stderr.decode()
    return json.loads(done.stdout)

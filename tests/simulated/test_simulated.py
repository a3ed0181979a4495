"""Simulated incidents, made and diagnosed."""

import filecmp
from functools import cache
from pathlib import Path

import pytest

from simulated.cases import KINDS, Case, draw
from simulated.recording import write
from simulated.run import run, run_all
from simulated.scoring import Score

SEEDS = range(1000, 1010)  # seen by nobody who wrote the diagnosis


def share(scores: list[Score], name: str) -> float:
    """Of the cases that ask for it, those that have it."""
    real = [getattr(one, name) for one in scores if one.is_detected is not None]
    return sum(real) / len(real)


@cache
def unlike() -> Case:
    return draw("gpu_throttle", 4, "unlike")


@pytest.mark.slow
def test_the_same_seed_writes_the_same_bytes(tmp_path: Path):
    first, second = (write(draw("gpu_throttle", 4), tmp_path / name) for name in ("a", "b"))
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert len(files) >= 4
    assert filecmp.cmpfiles(first, second, files, shallow=False)[1:] == ([], [])


@pytest.mark.slow
def test_what_a_variant_does_not_record_is_not_written(tmp_path: Path):
    folder = write(draw("quiet", 4, "no_access_log"), tmp_path / "case")
    assert not (folder / "nginx").exists()
    assert (folder / "otel" / "spans.jsonl.gz").exists()


@pytest.mark.slow
def test_a_case_without_its_part_is_the_shop_as_usual():
    case = unlike()
    assert case.effect.share_gone(case.again(())) == pytest.approx(1.0)
    assert case.effect.share_gone(case.again(case.parts)) == 0.0


@pytest.mark.slow
def test_engines_that_are_a_seventh_slower_are_so_with_the_trouble_and_without_it():
    slow, usual = draw("gpu_throttle", 4, "unlike_slow"), unlike()
    assert slow.effect.usual_p99_s > 1.05 * usual.effect.usual_p99_s


@pytest.mark.slow
def test_a_changed_mix_alone_raises_the_fleets_p99():
    case = draw("mix_shift", 60)
    assert case.primary == ("mix_shift",)
    assert case.effect.p99_s > 1.75 * case.effect.usual_p99_s


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        "long_context_surge",
        pytest.param("retry_storm", marks=pytest.mark.soak),
        pytest.param("straggler_replica", marks=pytest.mark.soak),
    ],
)
def test_a_simulated_incident_is_found_and_its_cause_is_named(kind: str, tmp_path: Path):
    found = run(kind, 0, tmp_path)
    assert found is not None
    assert (found.is_detected, found.is_top1, found.cleared) == (True, True, ())


@pytest.mark.slow
def test_a_surge_of_prompts_that_are_long_for_their_service_alone_is_named(tmp_path: Path):
    """Usual prompts have some 200 tokens, the surge's 600 to 3,000."""
    found = run("long_context_surge", 9200, tmp_path, "short_prompts")
    assert found is not None
    assert (found.is_detected, found.is_top1, found.is_exact) == (True, True, True)


@pytest.mark.soak
def test_every_kind_is_told_apart(tmp_path: Path):
    scores = list(run_all(KINDS, SEEDS, tmp_path, processes=2))
    assert share(scores, "is_top1") >= 0.9
    assert share(scores, "is_exact") >= 0.85
    for kind in ("confounded", "mix_shift", "two_causes"):
        assert share([one for one in scores if one.kind == kind], "is_top1") >= 0.8, kind
    true = sum(len(one.true) for one in scores)
    assert sum(len(one.cleared) for one in scores) <= 0.01 * true

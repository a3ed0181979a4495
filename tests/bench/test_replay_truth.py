"""What a replay says of an incident is what happens in another simulator: one case, and all of them."""

from pathlib import Path

import pytest
from replay_truth import FIRST_SEED, KINDS, SEEDS, Told, Tried, Undone, all_told, figures, told


def case(**changed: object) -> Told:
    fields = {
        "kind": "gpu_throttle", "seed": 1, "status": "quantified", "text": "", "error": 0.05, "before": 0.0,
        "slowest": 1.5, "is_slow": True, "undone": (),
    }  # fmt: skip
    return Told(**(fields | changed))  # type: ignore[arg-type]


def test_policies_are_in_order_where_those_that_truly_differ_are():
    tried = (Tried("", 10.0, 10.0), Tried("a", 9.0, 10.5), Tried("b", 4.0, 5.0), Tried("c", 12.0, 4.0))
    # apart are b and c from each other and from both others: c is said to be last and is first
    assert case(tried=tried).tau == (2 - 3) / 5
    assert case(tried=tried[:2]).tau is None


def test_figures_are_shares_of_what_was_stated():
    right = Undone("gpu_throttle", 0.9, 1.0, 2.0, 2.3)
    wrong = Undone("gpu_throttle", 0.5, 1.0, 2.0, 1.0)
    found = figures(
        [case(undone=(right, wrong)), case(status="ranked", error=-0.25, is_slow=False, slowest=1.0)]
    )
    assert {name: found[name] for name in ("cases", "quantified", "ranked", "factors undone")} == {
        "cases": 2, "quantified": 1, "ranked": 1, "factors undone": 2,
    }  # fmt: skip
    assert (found["median error of P99"], found["shares within .10"]) == (0.15, 0.5)
    assert (found["of them found so"], found["of them found so too"]) == (1.0, 1.0)


@pytest.mark.soak
def test_a_throttled_gpu_in_another_simulator_is_undone_as_it_is_there(tmp_path: Path):
    found = told("gpu_throttle", FIRST_SEED + 1, "unlike", tmp_path, is_tried=False)
    assert found is not None
    assert found.status == "quantified"
    assert figures([found])["median error of P99"] <= 0.1
    assert figures([found])["shares within .10"] == figures([found])["P99s without within 20 %"] == 1.0
    assert found.slowest is not None
    assert found.slowest > 1.5


@pytest.mark.soak
def test_replays_agree_with_another_simulator(tmp_path: Path):
    seeds = range(FIRST_SEED, FIRST_SEED + SEEDS)
    found = figures(list(all_told(KINDS, seeds, "unlike", tmp_path, is_tried=True)))
    assert found["median error of P99"] <= 0.1
    assert found["shares within .10"] >= 0.85
    assert found["P99s without within 20 %"] >= 0.8
    assert found["Kendall's tau, mean"] >= 0.9
    assert found["of them found so"] >= 0.8


@pytest.mark.soak
def test_engines_that_are_slower_by_fifteen_percent_are_flagged_beside_another_cause(tmp_path: Path):
    kinds = ("traffic_surge", "output_length_surge", "upstream_network", "cpu_or_tokenizer_bottleneck")
    seeds = range(FIRST_SEED, FIRST_SEED + 2 * SEEDS)
    found = figures(list(all_told(kinds, seeds, "unlike_slow", tmp_path, is_tried=False)))
    assert found["engines slow"] >= 8
    assert found["of them found so too"] >= 0.9

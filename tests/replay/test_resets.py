"""A factor put back takes away what it caused, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from worlds import CAUSED, LIMITS, START_S, served

from tracemortem.replay.model import calibrated
from tracemortem.replay.recorded import requests
from tracemortem.replay.resets import RESETS, World, undone
from tracemortem.replay.shares import Fit, fit, joint, shares, verdict

LONG = 4096


def world_of(**changes):
    made = requests(served(**changes))
    return World(calibrated(made, LIMITS), made, made.rest)


@pytest.mark.parametrize("cause", CAUSED)
def test_the_rise_goes_with_its_cause_and_with_no_other(cause):
    world = world_of(**CAUSED[cause])
    total_s = world.total_s()
    assert abs(fit(world, total_s).error) < 0.1
    found = shares(world, total_s, tuple(CAUSED), LONG)
    assert found[cause].share > 0.85
    assert found[cause].low <= found[cause].share <= found[cause].high
    assert {name: round(one.share, 1) for name, one in found.items() if one.share > 0.2}.keys() == {cause}


def test_shares_of_causes_that_work_together_add_up():
    world = world_of(
        slower={0: 1.6, 1: 1.6}, is_long=lambda at, chance: chance < np.where(at < START_S, 0.01, 0.12)
    )
    total_s = world.total_s()
    both = joint(world, total_s, ["speed", "long"], LONG)
    there = undone(world, ["speed", "long"], LONG)
    peak, base = (np.quantile(total_s[phase], 0.99) for phase in (world.made.is_during, world.made.is_before))
    gone = (peak - np.quantile(there.total_s()[there.made.is_during], 0.99)) / (peak - base)
    assert sum(both.values()) == pytest.approx(gone)
    assert min(both.values()) > 0.1


def test_every_reset_leaves_the_baseline_as_it_was():
    world = world_of(**CAUSED["long"])
    before = world.made.is_before
    for name in RESETS:
        there = undone(world, [name], LONG)
        same = there.made.is_before
        for column in ("arrival", "prompt", "cached", "output", "replica"):
            assert getattr(there.made, column)[same].tolist() == getattr(world.made, column)[before].tolist()


def test_prompts_longer_than_any_before_all_go_and_those_as_long_as_before_stay_as_many():
    world = world_of(is_long=lambda at, chance: chance < 0.02)
    made = world.made
    is_long, longest = made.prompt >= LONG, made.prompt == 12_000
    grown = np.where(longest & made.is_during, 40_000, made.prompt)
    grown = np.where(longest & made.is_during & (made.started % 1 < 0.5), 12_001, grown)
    there = undone(replace(world, made=replace(made, prompt=grown)), ["long"], LONG).made
    assert there.prompt.max() == 12_001
    halved = (grown == 12_001).sum()
    assert (there.prompt == 12_001).sum() == pytest.approx(halved, rel=0.05)
    assert (there.prompt >= LONG).sum() < is_long.sum()


def test_what_was_cached_in_the_incident_stays_so_where_less_was_before():
    made = world_of(hit=lambda at_s: 0.2 if at_s < START_S else 0.8).made
    world = World(calibrated(made, LIMITS), made, made.rest)
    assert undone(world, ["cache"], LONG).made.cached.tolist() == made.cached.tolist()


def test_with_as_many_requests_as_before_as_many_come():
    world = world_of(a_second=3.0)
    random = np.random.default_rng(3).random(len(world.made.prompt))
    halved = world.without(world.made.is_before & (random < 0.5))
    there = undone(halved, ["traffic"], LONG)
    assert there.made.is_during.sum() == pytest.approx(halved.made.is_before.sum(), rel=0.01)


def test_the_same_input_gives_the_same_shares():
    world = world_of(**CAUSED["front"], a_second=2.0)
    total_s = world.total_s()
    assert shares(world, total_s, tuple(RESETS), LONG) == shares(world, total_s, tuple(RESETS), LONG)


@pytest.mark.parametrize(
    ("before", "during", "status"),
    [
        ((1.0, 1.1), (4.0, 4.5), "quantified"),
        ((1.0, 1.0), (4.0, 4.7), "ranked"),
        ((1.0, 1.3), (4.0, 4.0), "ranked"),
        ((1.0, 1.0), (4.0, 2.0), "not_available"),
        ((1.0, 1.5), (4.0, 4.0), "not_available"),
        ((1.0, 1.1), (1.05, 1.0), "not_available"),
    ],
)
def test_a_replay_is_good_for_what_its_larger_error_allows(before, during, status):
    limits = {"replay_quantified_error": 0.15, "replay_ranked_error": 0.4}
    assert verdict(Fit(*before, *during), limits)[0] == status

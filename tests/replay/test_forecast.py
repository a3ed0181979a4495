"""What is predicted for a policy, and how far it may be off."""

import math
from dataclasses import replace

import numpy as np
import pytest
from worlds import INCIDENT, LIMITS, LONG, served

from tracemortem.replay.forecast import doubt, forecast
from tracemortem.replay.model import calibrated
from tracemortem.replay.policy import NUMBERS, Action, Policy
from tracemortem.replay.recorded import requests
from tracemortem.replay.resets import World
from tracemortem.replay.trial import Scene, trial

ERROR = 0.1


def policy_of(*actions):
    return Policy("one", "one", 1, (), actions)


@pytest.fixture(scope="module")
def flooded():
    """A world with long prompts in its second half, all from 192.0.2.2, and its doubts."""
    frame = served(is_long=lambda at, chance: chance < np.where(at < INCIDENT * 60, 0.0, 0.12), a_second=8.0)
    made = requests(frame)
    world = World(calibrated(made, LIMITS), made, made.rest)
    return world, doubt(world, ERROR)


@pytest.fixture(scope="module")
def scene():
    return Scene(("192.0.2.1", "192.0.2.2"), ("192.0.2.2/32",), LONG, is_size_told=False)


def test_without_the_culprits_latency_is_what_it_would_have_been_had_they_never_come(flooded, scene):
    world, doubts = flooded
    found = forecast(world, policy_of(Action("block", {}, ("culprits",))), scene, doubts)
    there = world.without(world.made.is_during & (world.made.prompt >= LONG))
    during = there.total_s()[there.made.is_during]
    assert found.p99_s.value == pytest.approx(np.quantile(during, 0.99))
    assert found.p50_s.value == pytest.approx(np.quantile(during, 0.5))
    assert (found.long_p99_s, found.short_p99_s) == (None, found.p99_s)
    assert found.rejected == (world.made.is_during & (world.made.prompt >= LONG)).sum()
    assert (found.rejected_before, found.elsewhere, found.cut) == (0, 0, 0)
    assert found.requests == world.made.is_during.sum()


def test_a_range_holds_engines_of_another_pace_and_the_error_of_the_replay(flooded, scene):
    world, doubts = flooded
    found = forecast(world, policy_of(Action("own_queue", {"from_tokens": 1e9})), scene, doubts)
    paced = []
    for model in doubts.paced:
        there = World(model, world.made, world.rest)
        paced.append(float(np.quantile(there.total_s()[there.made.is_during], 0.99)))
    assert found.p99_s.value == pytest.approx(np.quantile(world.total_s()[world.made.is_during], 0.99))
    assert found.p99_s.low <= min(paced) / (1 + ERROR)
    assert found.p99_s.high >= max(paced) / (1 - ERROR)
    assert min(paced) < found.p99_s.value < max(paced)


def test_the_share_cached_is_not_widened_by_the_error_of_latency(flooded, scene):
    world, doubts = flooded
    found = forecast(world, policy_of(Action("shortest_first", {})), scene, doubts)
    made = world.made
    share = made.cached[made.is_during].sum() / made.prompt[made.is_during].sum()
    assert found.hit_ratio is not None
    assert tuple(vars(found.hit_ratio).values()) == pytest.approx((share, share, share))


def test_each_calibration_leaves_another_fifth_of_the_minutes_out(flooded):
    world, doubts = flooded
    laws = np.array([model.law for model in doubts.left_out])
    assert len(np.unique(laws, axis=0)) == 5
    assert np.allclose(laws[:, 1], world.model.law[1], rtol=0.1)


def test_where_nobody_is_served_there_is_no_figure(flooded, scene):
    world, doubts = flooded
    limit = Action("limit", {"per_minute": 0.0, "times": math.nan}, ("0.0.0.0/0",))
    found = forecast(world, policy_of(limit), scene, doubts)
    assert (found.p50_s, found.p99_s, found.hit_ratio, found.before_p99_s) == (None, None, None, None)
    assert (found.rejected, found.requests) == (world.made.is_during.sum(),) * 2


def test_a_prompt_that_fits_in_no_engine_is_refused_by_no_policy(flooded, scene):
    """12,000 tokens do not fit into 700 blocks of 16."""
    world, doubts = flooded
    there = replace(world, model=replace(world.model, limits=replace(LIMITS, blocks=700)))
    told = forecast(there, policy_of(Action("shortest_first", {})), scene, doubts)
    lost = world.made.is_during & (world.made.prompt + world.made.output > 700 * 16)
    assert lost.any()
    assert (told.rejected, told.rejected_before, told.unfit) == (0, 0, lost.sum())
    blocked = forecast(there, policy_of(Action("block", {}, ("0.0.0.0/0",))), scene, doubts)
    assert (blocked.rejected, blocked.unfit) == (blocked.requests - lost.sum(), lost.sum())


def test_an_answer_is_cut_only_where_it_is_given(flooded, scene):
    world, doubts = flooded
    cap = Action("block_cap", {"blocks": 1e6, "block_tokens": 1, "times": 1.0, "plus": 2.0})
    cut = world.made.output > 2
    first = forecast(world, policy_of(cap), scene, doubts)
    assert first.cut == (world.made.is_during & cut).sum()
    both = forecast(world, policy_of(cap, Action("block", {}, ("culprits",))), scene, doubts)
    assert both.cut == (world.made.is_during & cut & (world.made.prompt < LONG)).sum()
    at_once = dict.fromkeys(NUMBERS["fallback"], 0.0) | {"cached_share": 1.0}
    actions = cap, Action("fallback", at_once)
    elsewhere = trial(world, actions, scene).played()[1]
    assert (cut & elsewhere & world.made.is_during).any()
    third = forecast(world, policy_of(*actions), scene, doubts)
    assert third.cut == (world.made.is_during & cut & ~elsewhere).sum()

"""What each action of a policy does to a handful of requests, to the second."""

import numpy as np
import pytest

from tracemortem.replay.model import Limits, Model
from tracemortem.replay.policy import NUMBERS, Action
from tracemortem.replay.recorded import Requests
from tracemortem.replay.resets import World
from tracemortem.replay.trial import NotAvailableError, Scene, trial

CLIENTS = ("192.0.2.1", "198.51.100.9", "2001:db8::1")
SCENE = Scene(CLIENTS, ("198.51.100.0/24",), 4096, is_size_told=True)


def world(arrival, prompt, *, output=1, cached=0, client=0, replica=0, replicas=1, since=0.0, limits=None):
    """Engines where a token of prompt takes a millisecond and nothing else takes any; the rest is 0.5 s."""
    arrival, count = np.array(arrival, dtype=np.float64), len(arrival)

    def whole(value):
        return np.array(np.broadcast_to(value, count), dtype=np.int64)

    made = Requests(
        replica=whole(replica), arrival=arrival, scheduled=arrival, first=arrival, last=arrival,
        prompt=whole(prompt), cached=whole(cached), output=whole(output), started=arrival, total=arrival,
        client=whole(client), is_before=arrival < since, is_during=arrival >= since,
    )  # fmt: skip
    model = Model(
        limits or Limits(budget=100_000, running=1, blocks=1 << 30, block=16),
        np.array([0.0, 1e-3, 0.0, 0.0, 0.0]),
        np.ones((replicas, 1)),
    )
    return World(model, made, np.full(count, 0.5))


def act(name, who=(), **numbers):
    usual = {key: number.usual for key, number in NUMBERS[name].items() if number.usual is not None}
    return Action(name, {**usual, **numbers}, who)


def told(there, *actions, scene=SCENE):
    """The latencies to the millisecond, None where refused."""
    total_s, _ = trial(there, actions, scene).played()
    return [None if np.isnan(one) else round(float(one), 3) for one in total_s]


def reason(there, action, scene=SCENE):
    with pytest.raises(NotAvailableError) as caught:
        trial(there, [action], scene)
    return str(caught.value)


THREE = world([0.0, 0.1, 0.2], [1000, 8000, 1000])


def test_without_a_policy_who_comes_first_is_served_first():
    assert told(THREE) == [1.5, 9.4, 10.3]


@pytest.mark.parametrize("action", [act("own_queue", from_tokens=2048), act("shortest_first")])
def test_short_prompts_pass_the_long_one_that_waits(action):
    assert told(THREE, action) == [1.5, 10.4, 2.3]


def test_who_gives_up_is_refused_and_no_longer_in_the_way():
    there = world([0.0, 0.1, 0.2], [1000, 8000, 1000])
    assert told(there, act("give_up", from_tokens=2048, after_s=0.5)) == [1.5, None, 2.3]


def test_long_prompts_have_replicas_of_their_own():
    there = world([0.0, 0.1, 0.2], [1000, 8000, 1000], replicas=2)
    assert told(there, act("own_replicas", from_tokens=2048, replicas=1)) == [1.5, 8.5, 2.3]


def test_a_pool_of_one_replica_serves_long_prompts_alike_whether_it_was_added_or_taken():
    there = world([0.0, 0.1, 0.2, 0.3], [8000, 1000, 8000, 1000], replica=[0, 1, 1, 0], replicas=2)
    pool = act("own_replicas", from_tokens=2048, replicas=1)
    assert told(there, pool) == [8.5, 1.5, 16.3, 2.3]
    assert told(there, act("more_replicas", count=1), pool) == [8.5, 1.5, 16.3, 1.5]


def test_no_pool_can_be_taken_from_a_single_replica():
    assert reason(THREE, act("own_replicas", from_tokens=2048, replicas=1)) == (
        "the service has 1 replicas, and 1 of them were to serve long prompts only"
    )


def test_one_more_replica_takes_its_share():
    assert told(world([0.0, 0.0, 5.0], [1000] * 3), act("more_replicas", count=1)) == [1.5, 1.5, 1.5]


def test_a_cap_on_blocks_refuses_what_does_not_fit_and_cuts_what_grows_beyond():
    there = world([0.0, 10.0, 20.0, 30.0], [8192, 8191, 8000, 100], output=[5, 5, 500, 5])
    found = trial(there, [act("block_cap", blocks=256, block_tokens=32)], SCENE)
    assert found.refused.tolist() == [True, False, False, False]
    assert found.world.made.output[1:].tolist() == [1, 192, 5]
    assert found.cut.tolist() == [False, True, True, False]


def test_a_forecast_of_blocks_leaves_room_by_the_prompt():
    there = world([0.0, 10.0], [1000, 8000], output=500)
    action = act("block_cap", blocks=256, block_tokens=32, times=1.2, plus=4)
    # ceil(1000 * 1.2 / 32) + 4 = 42 blocks hold 1,344 tokens; 8,000 want 304 and get 256
    assert trial(there, [action], SCENE).world.made.output.tolist() == [344, 192]


def test_larger_blocks_are_fewer_and_hold_less_that_is_cached():
    limits = Limits(budget=100_000, running=1, blocks=1001, block=16)
    found = trial(world([0.0], [1000], cached=48, limits=limits), [act("block_size", tokens=32)], SCENE)
    assert (found.world.model.limits.blocks, found.world.model.limits.block) == (500, 32)
    assert found.world.made.cached.tolist() == [32]


def test_the_size_of_blocks_cannot_be_tried_where_their_number_is_not_known():
    scene = Scene(CLIENTS, (), 4096, is_size_told=False)
    assert reason(THREE, act("block_size", tokens=32), scene) == (
        "how many KV blocks the engines have is not recorded (vllm:cache_config_info)"
    )


def test_without_a_prefix_cache_every_prompt_is_computed_whole():
    there = world([0.0], [1000], cached=800)
    assert told(there) == [0.7]
    assert told(there, act("no_prefix_cache")) == [1.5]


def test_chunks_let_a_short_prompt_into_the_steps_of_a_long_one():
    limits = Limits(budget=2000, running=8, blocks=1 << 30, block=16)
    there = world([0.0, 0.1], [8000, 1000], limits=limits)
    assert told(there) == [8.5, 9.4]
    assert told(there, act("chunk", tokens=1000)) == [9.5, 3.4]


def test_a_smaller_step_is_over_sooner():
    limits = Limits(budget=8000, running=8, blocks=1 << 30, block=16)
    there = world([0.0, 0.1], [1000, 7000], limits=limits)
    assert told(there, act("step_budget", tokens=1000)) == told(there)
    assert trial(there, [act("step_budget", tokens=1000)], SCENE).world.model.limits.budget == 1000


def test_of_long_prompts_only_so_many_are_computed_at_once():
    limits = Limits(budget=2000, running=8, blocks=1 << 30, block=16)
    there = world([0.0, 0.0, 0.1], [8000, 8000, 1000], limits=limits)
    one = act("long_prefills", from_tokens=2048, at_once=1), act("chunk", tokens=1000)
    assert told(there, *one)[2] < 4.5 < told(there)[2]


def test_blocked_clients_are_refused_from_the_incident_on():
    there = world([0.0, 100.0, 101.0], [1000] * 3, client=[1, 1, 0], since=60.0)
    assert told(there, act("block", who=("culprits",))) == [1.5, None, 1.5]
    assert told(there, act("block", who=("192.0.2.0/24",))) == [1.5, 1.5, None]


def test_a_client_of_no_known_address_is_never_blocked():
    there = world([100.0, 101.0], [1000] * 2, client=[-1, 1], since=60.0)
    assert told(there, act("block", who=("0.0.0.0/0",))) == [1.5, None]


def test_a_limit_is_by_the_minute_and_the_first_pass():
    there = world([1.0, 5.0, 9.0, 61.0, 65.0], [1000] * 5)
    assert told(there, act("limit", who=("192.0.2.1/32",), per_minute=2)) == [1.5, 1.5, None, 1.5, 1.5]


def test_a_limit_counts_only_those_whom_nothing_before_it_refused():
    there = world([0.0, 1.0, 2.0, 3.0], [1000] * 4, client=[1, 1, 0, 0], replicas=4, replica=[0, 1, 2, 3])
    blocked, limited = act("block", who=("198.51.100.9/32",)), act("limit", who=("0.0.0.0/0",), per_minute=2)
    assert told(there, blocked, limited) == [None, None, 1.5, 1.5]
    twice = act("limit", who=("198.51.100.9/32",), per_minute=1)
    assert told(there, twice, limited) == [1.5, None, 1.5, None]


def test_a_limit_may_be_what_was_usual():
    there = world([1.0, 5.0, 61.0, 121.0, 125.0, 130.0], [5000] * 6, since=120.0)
    # three in the two minutes before: one and a half a minute, so two may pass
    assert told(there, act("limit", who=("long",), times=1))[3:] == [5.5, 6.5, None]


def test_everyone_may_be_refused():
    assert told(THREE, act("limit", who=("0.0.0.0/0",), per_minute=0)) == [None, None, None]


@pytest.mark.parametrize(
    ("scene", "why"),
    [
        (Scene(CLIENTS, (), 4096, is_size_told=True), "no address range is known as a culprit"),
        (Scene((), ("192.0.2.0/24",), 4096, is_size_told=True), "the clients' addresses are not recorded"),
    ],
)
def test_culprits_cannot_be_blocked_where_nobody_is_known(scene, why):
    assert reason(THREE, act("block", who=("culprits",)), scene) == why


def test_who_waits_too_long_is_answered_otherwise_or_refused():
    there = world([0.0] + [0.1] * 20, [50_000] + [1000] * 20)
    ladder = act(
        "fallback", cached_after_s=1, cached_share=0.25, cached_s=0.05, lighter_after_s=2, lighter_share=0.5,
        lighter_times=0.4, refuse_after_s=4,
    )  # fmt: skip
    tried = trial(there, [ladder], SCENE)
    total_s, elsewhere = tried.played()
    # 0.5 s outside the engine, the wait, and then 0.05 s from the cache, or 0.4 times the second alone
    assert sorted({round(float(one), 3) for one in total_s[1:] if not np.isnan(one)}) == [1.55, 2.9]
    assert elsewhere.sum() == (~np.isnan(total_s[1:])).sum()
    assert (round(float(total_s[0]), 3), int(np.isnan(total_s).sum())) == (50.5, 5)


FALLBACK = {
    "cached_after_s": 1, "cached_share": 0, "cached_s": 0.05, "lighter_after_s": 1, "lighter_share": 1,
    "lighter_times": 0.5, "refuse_after_s": 1,
}  # fmt: skip


def test_a_lighter_model_takes_its_share_of_all_that_a_request_alone_costs():
    """One term of the law after the other, against what the engine takes for it."""
    made = world([0.0], [9000], cached=1000, output=50).made
    for column in range(5):
        limits = Limits(budget=2048, running=8, blocks=1 << 30, block=16, chunk=1000)
        model = Model(limits, np.eye(5)[column], np.ones((1, 1)))
        found = trial(World(model, made, np.zeros(1)), [act("fallback", **FALLBACK)], SCENE)
        assert found.instead_s == pytest.approx(0.5 * model.times(made)[:, 2]), column


def test_a_prompt_that_fits_in_no_engine_is_not_answered_from_elsewhere():
    limits = Limits(budget=100_000, running=1, blocks=100, block=16)
    there = world([0.0, 0.1, 0.2], [1500, 1600, 1500], limits=limits)
    assert told(there, act("fallback", **FALLBACK)) == [2.0, None, 2.25]


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_ways_out_of_the_queue_the_first_is_taken_whichever_is_named_first(order):
    there = world([0.0, 0.1, 0.1], [9000, 1000, 3000])
    for after_s, wanted in ((0.5, [9.5, 2.0, None]), (3.0, [9.5, 2.0, 3.0])):
        both = act("fallback", **FALLBACK), act("give_up", from_tokens=2048, after_s=after_s)
        assert told(there, *both[::order]) == wanted


@pytest.mark.parametrize("order", [1, -1])
def test_the_shortest_goes_first_within_a_queue_of_its_own(order):
    there = world([0.0, 0.1, 0.2, 0.3], [1000, 8000, 3000, 2000], cached=[0, 7999, 0, 0])
    both = act("own_queue", from_tokens=4000), act("shortest_first")
    assert told(there, *both[::order]) == [1.5, 6.401, 6.3, 3.2]

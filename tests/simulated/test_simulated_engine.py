"""The simulated engine obeys the physics it claims."""

from dataclasses import replace

import pytest

from simulated.engine import Job, Replica
from simulated.hardware import Hardware

PLAIN = Hardware(
    host_s=0.002, token_s=1e-4, sequence_s=0.0, weights_s=0.01, context_s=1e-7, overlap=0.0,
    kv_tokens=100_000, max_sequences=64, batched_tokens=2048,
)  # fmt: skip


def served(replica: Replica, *jobs: Job) -> Replica:
    for job in jobs:
        replica.advance(job.arrived_at)
        replica.submit(job)
    replica.advance(1e4)
    return replica


def job(at: float, key: str = "a", prompt: int = 1024, output: int = 10) -> Job:
    return Job(((key, prompt - 24),), prompt, output, at)


def test_a_request_alone_takes_its_prefill_and_one_step_a_token():
    alone = job(0)
    served(Replica(PLAIN), alone)
    assert alone.first_token_at == pytest.approx(0.002 + 1024e-4)
    # each step reads the weights and the context
    assert alone.finished_at - alone.first_token_at == pytest.approx(10 * (0.012 + 1e-7 * 1024), rel=1e-2)


def test_a_prefix_asked_for_again_is_not_computed_again():
    first, again = job(0), job(100)
    served(Replica(PLAIN), first, again)
    assert (first.cached_tokens, again.cached_tokens) == (0, 992)  # whole blocks of 16
    assert again.first_token_at - 100 < 0.2 * first.first_token_at


def test_other_prompts_evict_a_prefix_once_memory_is_full():
    jobs = [job(0), *(job(10 + n, f"other{n}") for n in range(100)), job(200)]
    served(Replica(PLAIN), *jobs)
    assert jobs[-1].cached_tokens == 0


def test_with_caching_off_nothing_is_found():
    replica, again = Replica(PLAIN), job(100)
    replica.is_caching = False
    served(replica, job(0), again)
    assert again.cached_tokens == 0


def test_when_memory_runs_out_the_last_one_admitted_is_preempted_and_all_are_served():
    jobs = [job(0, str(n), output=2000) for n in range(8)]
    replica = served(Replica(replace(PLAIN, kv_tokens=10_000)), *jobs)
    assert replica.counters.preemptions > 0
    assert all(one.finished_at > 0 for one in jobs)
    assert replica.usage == 0


def test_a_long_prompt_makes_a_short_one_wait():
    short = job(0.001)
    served(Replica(PLAIN), Job((("long", 40_000),), 40_000, 5, 0), short)
    assert short.first_token_at > 10 * 1024e-4


def test_decoding_slows_with_the_context_that_is_read():
    near, far = job(0, output=500), job(0, prompt=90_000, output=500)
    for one in (near, far):
        served(Replica(PLAIN), one)
    near_s, far_s = (one.finished_at - one.first_token_at for one in (near, far))
    assert far_s - near_s == pytest.approx(500 * (90_000 - 1024) * 1e-7, rel=0.01)


def test_who_waits_goes_by_rank_and_within_it_as_they_came():
    replica = Replica(replace(PLAIN, max_sequences=1))
    replica.rank = lambda job: job.prompt_tokens
    jobs = [job(0, "a", 4000), job(0.01, "b", 3000), job(0.02, "c", 1000), job(0.03, "d", 1000)]
    served(replica, *jobs)
    assert [one.segments[0][0] for one in sorted(jobs, key=lambda one: one.scheduled_at)] == [*"acdb"]


def test_steps_stray_around_what_they_usually_take_and_some_stall():
    def decoded_s(**changed: float) -> float:
        alone = job(0, output=20_000)
        served(Replica(replace(PLAIN, **changed), seed=3), alone)
        return alone.finished_at - alone.first_token_at

    plain_s = decoded_s()
    assert 0 < abs(decoded_s(noise=0.1) / plain_s - 1) < 0.005
    assert decoded_s(stall_ratio=0.003) - plain_s == pytest.approx(20_000 * 0.003 * 0.15, rel=0.3)

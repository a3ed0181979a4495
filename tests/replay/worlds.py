"""Requests as the engine model itself would have served them: what calibration must find again."""

import numpy as np
import polars as pl

from tracemortem.replay import engine
from tracemortem.replay.model import NONE_LONG, Limits

LAW = np.array([0.014, 6e-5, 5e-5, 8e-8, 4e-9])
LIMITS = Limits(budget=2048, running=256, blocks=1 << 30, block=16)
MINUTES = 40
LONG = 4096
INCIDENT = 20  # the minute from which on it is one
START_S = INCIDENT * 60
CAUSED = {  # what goes wrong in it -> what `served` takes for that
    "long": {"is_long": lambda at, chance: chance < np.where(at < START_S, 0.01, 0.12), "a_second": 8.0},
    "speed": {"slower": {0: 2.0, 1: 2.0}},
    "cache": {
        "hit": lambda at_s: 0.95 if at_s < START_S else 0.0,
        "is_long": lambda at, chance: chance < 0.15,
        "a_second": 8.0,
    },
    "front": {"rest_s": lambda at_s: 0.02 if at_s < START_S else 4.0},
}


def served(
    seed=7,
    a_second=6.0,
    replicas=2,
    is_long=None,
    slower=None,
    hit=lambda at_s: 0.5,
    rest_s=lambda at_s: 0.02,
):
    """A frame for recorded.requests: MINUTES of requests, the second half the incident.

    is_long   of arrival and random numbers: who has a prompt of 12,000 tokens; slower: replica -> how much so
              in the incident; hit, rest_s: of an arrival, share of the prompt cached, and time elsewhere
    """
    random = np.random.default_rng(seed)
    count = int(a_second * MINUTES * 60)
    at = np.sort(random.random(count) * MINUTES * 60)
    prompt = random.lognormal(6.3, 0.7, count).astype(np.int64) + 1
    if is_long is not None:
        prompt = np.where(is_long(at, random.random(count)), 12_000, prompt)
    cached = np.array([hit(one) for one in at]) * prompt // 16 * 16
    cached = np.minimum(cached, prompt - 1).astype(np.int64)
    output = random.geometric(1 / 60, count)
    replica = random.integers(0, replicas, count)
    times, preempted = np.empty((count, 3)), np.empty(count, np.int64)
    for number in range(replicas):
        own = np.flatnonzero(replica == number)
        slow = (slower or {}).get(number, 1.0)
        own_times = np.empty((len(own), 3))
        engine.run(
            at[own], prompt[own], cached[own], output[own], at[own], np.full(len(own), np.inf), LAW,
            np.array([-1e18, INCIDENT * 60.0]), np.array([1.0, slow]),
            LIMITS.budget, LIMITS.budget, NONE_LONG, 1, LIMITS.running, LIMITS.blocks, LIMITS.block,
            own_times, preempted[own],
        )  # fmt: skip
        times[own] = own_times
    rest = np.array([rest_s(one) for one in at])
    return pl.DataFrame(
        {
            "replica": [f"engine-{number}" for number in replica],
            "arrival_s": at,
            "front_s": 0.0,
            "queue_s": times[:, 0] - at,
            "ttft_s": times[:, 1] - at,
            "engine_s": times[:, 2] - at,
            "prompt_tokens": prompt,
            "cached_tokens": cached,
            "output_tokens": output,
            "started_s": at,
            "duration_s": times[:, 2] - at + rest,
            "client_ip": [f"192.0.2.{number}" for number in np.where(prompt < LONG, 1, 2)],
            "phase": np.where(at < INCIDENT * 60, "baseline", "during"),
        }
    )

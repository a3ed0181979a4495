"""What a replay of a million requests costs, beside the same loop in plain Python on a hundredth of them.

python tests/bench/engine_replay.py [compiled|plain REQUESTS]
"""

import sys
from pathlib import Path

import numpy as np
from measure import Cost, in_turn, table

REQUESTS = 1_000_000
PLAIN_SHARE = 100
REPLICAS = 20
A_SECOND = 100.0
_LAW = (0.014, 6e-5, 5e-5, 8e-8, 4e-9)
_LIMITS = {
    "budget": 2048,
    "chunk": 2048,
    "long_from": 1 << 40,
    "long_most": 1,
    "most": 256,
    "blocks": 24_000,
    "block": 16,
}


def drawn(requests: int) -> dict[str, np.ndarray]:
    """Requests of a chat service; one in a hundred has a prompt of 20,000 tokens."""
    random = np.random.default_rng(5)
    prompt = random.lognormal(6.5, 0.8, requests).astype(np.int64) + 1
    prompt[random.random(requests) < 0.01] = 20_000
    return {
        "arrival": np.cumsum(random.exponential(1 / A_SECOND, requests)),
        "prompt": prompt,
        "cached": np.minimum(prompt // 2 // 16 * 16, prompt - 1),
        "output": random.geometric(1 / 150, requests),
        "replica": random.integers(0, REPLICAS, requests),
    }


def compiled(requests: int) -> str:
    """By the product's engine; returns the sum of all ends, by which methods are compared."""
    from tracemortem.replay import engine

    made, last = drawn(requests), 0.0
    for number in range(REPLICAS):
        own = made["replica"] == number
        arrival, prompt, cached, output = (
            made[name][own] for name in ("arrival", "prompt", "cached", "output")
        )
        times, preempted = np.empty((own.sum(), 3)), np.empty(own.sum(), np.int64)
        engine.run(
            arrival, prompt, cached, output, arrival, np.full(own.sum(), np.inf), np.array(_LAW),
            np.array([-1e18]), np.array([1.0]), *_LIMITS.values(), times, preempted,
        )  # fmt: skip
        last += times[:, 2].sum()
    return f"{requests:,} requests, ends sum to {last:.3f}"


def plain(requests: int) -> str:
    """The same by the plain engine that tests hold it to."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "replay"))
    from plain_engine import replayed

    made, last = drawn(requests), 0.0
    for number in range(REPLICAS):
        own = made["replica"] == number
        columns = (made[name][own].tolist() for name in ("arrival", "prompt", "cached", "output"))
        served = replayed([*zip(*columns, strict=True)], _LAW, lambda _: 1.0, **_LIMITS)
        last += sum(one.last for one in served)
    return f"{requests:,} requests, ends sum to {last:.3f}"


def costs(requests: int, runs: int) -> list[Cost]:
    """A row a method, the compiled one also on as few requests as the plain one."""
    command = [sys.executable, __file__]
    few = str(requests // PLAIN_SHARE)
    return in_turn(
        {
            "tracemortem's engine": [*command, "compiled", str(requests)],
            "tracemortem's engine, a hundredth": [*command, "compiled", few],
            "plain Python, a hundredth": [*command, "plain", few],
        },
        runs,
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.stdout.write({"compiled": compiled, "plain": plain}[sys.argv[1]](int(sys.argv[2])))
    else:
        sys.stdout.write(table(costs(REQUESTS, runs=3)))

"""The compiled engine: the same as the plain one, and what a scheduler does."""

import math

import numpy as np
import pytest
from plain_engine import replayed

from tracemortem.replay import engine
from tracemortem.replay.model import NONE_LONG

LAW = np.array([0.01, 5e-5, 2e-4, 1e-7, 3e-9])
STEADY = np.array([-1e18]), np.array([1.0])


def run(
    requests, law=LAW, slow=STEADY, budget=2048, chunk=2048, most=256, blocks=1 << 30, block=16,
    long_from=NONE_LONG, long_most=1, patience=math.inf,
):  # fmt: skip
    arrival, prompt, cached, output = (np.array(column) for column in zip(*requests, strict=True))
    times, preempted = np.empty((len(requests), 3)), np.empty(len(requests), np.int64)
    engine.run(
        arrival.astype(float), prompt, cached, output, arrival.astype(float),
        np.full(len(requests), patience), law, *slow, budget, chunk, long_from, long_most, most, blocks,
        block, times, preempted,
    )  # fmt: skip
    return times, preempted


def drawn(seed, count, a_second, longest):
    random = np.random.default_rng(seed)
    arrival = np.cumsum(random.exponential(1 / a_second, count))
    prompt = random.integers(1, longest, count)
    cached = (prompt * random.random(count) * random.integers(0, 2, count)).astype(int) // 16 * 16
    output = random.geometric(1 / 40, count)
    return list(
        zip(
            arrival.tolist(),
            prompt.tolist(),
            np.minimum(cached, prompt - 1).tolist(),
            output.tolist(),
            strict=True,
        )
    )


@pytest.mark.parametrize(
    ("seed", "a_second", "longest", "limits"),
    [
        (1, 5.0, 2000, {}),
        (2, 30.0, 6000, {}),
        (3, 30.0, 6000, {"chunk": 512, "most": 8}),
        (4, 20.0, 900, {"blocks": 120}),
        (5, 20.0, 900, {"blocks": 90, "budget": 256, "chunk": 128, "most": 16}),
        (6, 40.0, 60, {"blocks": 24, "block": 4}),
        (7, 30.0, 6000, {"chunk": 512, "long_from": 2000}),
        (8, 20.0, 900, {"blocks": 90, "long_from": 300, "long_most": 2}),
        (9, 40.0, 6000, {"long_from": 3000, "patience": 2.0}),
        (10, 40.0, 900, {"blocks": 90, "patience": 1.0}),
        (11, 40.0, 900, {"blocks": 90, "long_from": 300, "patience": 1.5, "most": 8}),
    ],
)
def test_the_compiled_engine_does_what_the_plain_one_does(seed, a_second, longest, limits):
    requests = drawn(seed, 400, a_second, longest)
    slow = np.array([-1e18, 3.0, 6.0]), np.array([1.0, 2.5, 1.0])
    settings = {
        "budget": 2048,
        "chunk": 2048,
        "most": 256,
        "blocks": 1 << 30,
        "block": 16,
        "long_from": NONE_LONG,
        "long_most": 1,
        "patience": math.inf,
        **limits,
    }
    times, preempted = run(requests, slow=slow, **settings)
    plain = replayed(requests, LAW.tolist(), lambda now: 2.5 if 3.0 <= now < 6.0 else 1.0, **settings)
    assert preempted.tolist() == [one.preempted for one in plain]
    np.testing.assert_allclose(
        times, [(one.scheduled, one.first, one.last) for one in plain], rtol=1e-9, atol=1e-9, equal_nan=True
    )
    if "blocks" in limits:
        assert preempted.sum() > 0


def test_a_request_alone_takes_what_the_law_says():
    times, _ = run([(1.0, 3000, 0, 3)])
    prefill = 2 * 0.01 + 5e-5 * 3000 + 3e-9 * 3000**2 / 2
    decode = [0.01 + 2e-4 + 1e-7 * context for context in (3000, 3001)]
    np.testing.assert_allclose(times, [[1.0, 1.0 + prefill, 1.0 + prefill + sum(decode)]])


def test_cached_tokens_are_not_computed():
    (_, first, _), *_ = run([(0.0, 1001, 1000, 1)])[0]
    assert first == pytest.approx(0.01 + 5e-5 + 3e-9 * 1000.5)


def test_who_has_the_smallest_key_goes_first():
    arrival = np.array([0.0, 0.1, 0.2])
    tokens, times = np.array([100, 100, 100]), np.empty((3, 3))
    engine.run(
        arrival, tokens, np.zeros(3, np.int64), np.array([200, 2, 2]), np.array([0.0, 9.0, 1.0]),
        np.full(3, np.inf), LAW, *STEADY, 2048, 2048, NONE_LONG, 1, 1, 1000, 16, times, np.empty(3, np.int64),
    )  # fmt: skip
    assert times[:, 0].argsort().tolist() == [0, 2, 1]


def test_what_fits_into_no_empty_engine_has_no_times():
    times, _ = run([(0.0, 1600, 0, 10), (0.1, 160, 0, 10)], blocks=100)
    assert np.isnan(times).all(axis=1).tolist() == [True, False]


def test_a_slow_engine_takes_longer_from_then_on():
    fast, _ = run([(0.0, 10, 0, 100)])
    slow, _ = run([(0.0, 10, 0, 100)], slow=(np.array([-1e18]), np.array([2.0])))
    np.testing.assert_allclose(slow, 2 * fast)


def test_one_long_prompt_is_computed_at_a_time_while_short_ones_pass():
    requests = [(0.0, 8000, 0, 2), (0.01, 8000, 0, 2), (0.02, 100, 0, 2)]
    together, _ = run(requests, chunk=512)
    one, _ = run(requests, chunk=512, long_from=4000)
    assert together[:, 0].argsort().tolist() == [0, 1, 2]
    assert one[:, 0].argsort().tolist() == [0, 2, 1]
    assert one[1, 0] >= one[0, 1] > together[1, 0]


def test_who_lost_patience_leaves_the_queue_and_who_was_scheduled_does_not():
    times, _ = run([(0.0, 100, 0, 200), (0.1, 100, 0, 2), (2.9, 100, 0, 2)], most=1, patience=1.0)
    assert np.isnan(times).all(axis=1).tolist() == [False, True, False]

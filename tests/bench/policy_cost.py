"""What trying the product's policies costs: CPU s of calibrations and of forecasts, by requests replayed.

PYTHONPATH=pipelines python tests/bench/policy_cost.py [REQUESTS]
"""

import sys
import time
from dataclasses import replace

import numpy as np
from engine_replay import REPLICAS, drawn

from tracemortem.folders import definitions
from tracemortem.replay.forecast import doubt, forecast, replays
from tracemortem.replay.model import Limits, Model, calibrated
from tracemortem.replay.policy import policies
from tracemortem.replay.recorded import Requests
from tracemortem.replay.resets import World
from tracemortem.replay.trial import Scene

REQUESTS = 200_000
LONG = 4096
_LAW = np.array((0.014, 6e-5, 5e-5, 8e-8, 4e-9))
_LIMITS = Limits(budget=2048, running=256, blocks=24_000, block=16)


def served(requests: int) -> World:
    """Requests as the engines serve them, the second half the incident, calibrated once."""
    tokens = drawn(requests)
    at, half = tokens["arrival"], tokens["arrival"][-1] / 2
    made = Requests(
        **tokens, scheduled=at, first=at, last=at, started=at, total=at,
        client=np.zeros(requests, np.int64), is_before=at < half, is_during=at >= half,
    )  # fmt: skip
    times = Model(_LIMITS, _LAW, np.ones((REPLICAS, 1))).times(made)
    made = replace(made, scheduled=times[:, 0], first=times[:, 1], last=times[:, 2], total=times[:, 2] - at)
    return World(calibrated(made, _LIMITS), made, np.zeros(requests))


def main(requests: int) -> None:
    """Print what one replay, the calibrations and the forecasts take."""
    world, chosen = served(requests), policies(definitions("replay", "policies"))
    scene = Scene(("192.0.2.1",), ("192.0.2.1/32",), LONG, is_size_told=True)
    begun = time.process_time()
    world.total_s()
    once = time.process_time()
    doubts = doubt(world, 0.1)
    calibration = time.process_time()
    for policy in chosen:
        forecast(world, policy, scene, doubts)
    done = time.process_time()
    count = requests * replays(chosen)
    sys.stdout.write(
        f"{requests:,} requests, {len(chosen)} policies: one replay {once - begun:.2f} CPU s, calibrations "
        f"{calibration - once:.1f}, forecasts {done - calibration:.1f}; "
        f"{count / (done - once):,.0f} replayed requests a CPU s\n"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REQUESTS)

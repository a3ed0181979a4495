"""The requests after an incident, to a service that stayed as it was: which recovery they explain."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from worlds import CAUSED, LIMITS, MINUTES, START_S, served

from tracemortem.replay.model import calibrated
from tracemortem.replay.recorded import requests
from tracemortem.replay.resets import World
from tracemortem.replay.unchanged import unchanged


def later(seed, **changes):
    """Twenty minutes as before the incident, after it; of the same names."""
    frame = served(seed, **changes).filter(pl.col("phase") == "baseline")
    ahead_s = MINUTES * 60.0
    return frame.with_columns(pl.col("arrival_s", "started_s") + ahead_s, phase=pl.lit("after"))


def both(frame, after):
    """The world of the incident, and the requests of the incident and after it."""
    made = requests(frame)
    goes_on = requests(pl.concat([frame.filter(pl.col("phase") == "during"), after]))
    return World(calibrated(made, LIMITS), made, made.rest), goes_on


def p99(values):
    return float(np.quantile(values, 0.99))


def met(world, made):
    """P99s of the requests after it: recorded, with engines as in the incident, and with the cache too."""
    is_after = ~made.is_during
    return (
        p99(made.total[is_after]),
        *(p99(unchanged(world, made, keeps_cache=keeps)[is_after]) for keeps in (True, False)),
    )


@pytest.mark.parametrize("cause", CAUSED)
def test_what_the_service_was_made_of_stays_and_who_comes_does_not(cause):
    world, made = both(served(**CAUSED[cause]), later(8, **CAUSED[cause]))
    recorded, engines, cache_too = met(world, made)
    peak = p99(world.made.total[world.made.is_during])
    assert recorded < peak / 1.5
    stays = {"speed": (True, True), "front": (True, True), "cache": (False, True), "long": (False, False)}
    assert (engines > recorded * 1.5, cache_too > recorded * 1.5) == stays[cause]
    if cause in ("speed", "front"):
        assert engines == pytest.approx(peak, rel=0.15)
    if cause == "long":
        assert (engines, cache_too) == pytest.approx((recorded, recorded), rel=0.1)


def test_a_replica_that_was_lost_in_the_incident_stays_lost_and_a_new_one_never_comes():
    whole, one = served(a_second=14.0), served(a_second=14.0, replicas=1)
    frame = pl.concat([whole.filter(phase="baseline"), one.filter(phase="during")])
    after = later(9, a_second=14.0)
    world, made = both(frame, after)
    recorded, engines, _ = met(world, made)
    assert engines > recorded * 1.2
    scaled = replace(made, replica=np.where(made.is_during, made.replica, made.replica + 2))
    alone = replace(made, replica=np.zeros_like(made.replica))
    times = unchanged(world, alone, keeps_cache=True)
    assert unchanged(world, scaled, keeps_cache=True).tolist() == times.tolist()
    assert unchanged(world, made, keeps_cache=True).tolist() == times.tolist()


def test_requests_that_find_less_in_the_cache_than_in_the_incident_still_do():
    frame = served(hit=lambda at_s: 0.2 if at_s < START_S else 0.9)
    world, made = both(frame, later(8, hit=lambda at_s: 0.2))
    assert met(world, made)[1] == met(world, made)[2]

"""All that is looked at for one incident is adjusted together: of nothing but chance little is found."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from tracemortem.explain.chance import adjusted
from tracemortem.explain.family import Family, family
from tracemortem.explain.movements import Compared, Course, compared
from tracemortem.explain.ranges import Ranges, ranges
from tracemortem.explain.segments import Shown, shown
from tracemortem.explain.signals import Signal
from tracemortem.incident import Spike

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)
SPIKE = Spike(
    "chat", "confirmed", BEGIN + HOUR, BEGIN + 2 * HOUR, BEGIN + HOUR, BEGIN + HOUR, "", BEGIN, BEGIN + HOUR,
    "", "",
)  # fmt: skip


def chances(*values: float | None) -> dict[str, Signal]:
    return {f"t.{n}": Signal(f"t.{n}", value, None, "p", "chance", 1.0) for n, value in enumerate(values)}


def steady(draw: np.random.Generator) -> tuple[Compared, ...]:
    """Twenty signals that do not move."""
    minutes = [BEGIN + timedelta(minutes=number) for number in range(120)]
    frames = [
        pl.DataFrame(
            {"minute": minutes, "signal": f"s{at}", "value": draw.normal(10, 1, 120), "every_s": 60.0},
            schema_overrides={"minute": pl.Datetime("us", "UTC")},
        )
        for at in range(20)
    ]
    courses = [Course(f"s{at}", f"s{at}", "count") for at in range(20)]
    return compared(courses, pl.concat(frames), SPIKE)


def alike(draw: np.random.Generator) -> Shown | None:
    """Requests of ten tenants, three replicas and two paths, one in ten of which is slow by chance."""
    size = 4000
    names = ["path", "replica", "tenant"]
    rows = pl.DataFrame(
        {
            "path": draw.choice(["/chat", "/complete"], size),
            "replica": draw.choice(["r0", "r1", "r2"], size),
            "tenant": draw.choice([f"t{at}" for at in range(10)], size),
            "during": draw.random(size) < 0.5,
            "slow": draw.random(size) < 0.1,
        }
    )
    return shown(
        rows.group_by(names)
        .agg(
            requests=pl.col("during").sum(),
            slow_requests=(pl.col("slow") & pl.col("during")).sum(),
            work_s=pl.col("during").sum().cast(pl.Float64),
            requests_before=(~pl.col("during")).sum(),
            work_before_s=(~pl.col("during")).sum().cast(pl.Float64),
        )
        .sort(names)
        .select(
            attributes=pl.concat_list(*(pl.lit(name) for name in names)),
            items=pl.concat_list(*names),
            part=pl.lit(0),
            requests="requests",
            slow_requests="slow_requests",
            work_s="work_s",
            requests_before="requests_before",
            work_before_s="work_before_s",
            minutes=pl.lit(60.0),
            minutes_before=pl.lit(60.0),
            values_seen=pl.lit(15),
        )
    )


def usual(draw: np.random.Generator, clients: int = 200) -> Ranges:
    """So many clients who send what they always do."""
    sent = draw.poisson(20, clients)
    first = np.sort(draw.choice(2**32, clients, replace=False)).astype(np.uint64)
    return ranges(
        pl.DataFrame(
            {
                "client_net": [f"10.0.{at}.0/24" for at in range(clients)],
                "is_ipv4": True,
                "client_bits": first,
                "requests": sent,
                "requests_expected": 20.0,
                "long_requests": draw.poisson(2, clients),
                "long_expected": 2.0,
                "heavy_outputs": draw.poisson(2, clients),
                "heavy_expected": 2.0,
                "prompt_tokens": 1000 * sent,
                "long_tokens": 500 * sent,
                "output_tokens": 100 * sent,
                "heavy_tokens": 50 * sent,
                "slow_requests": 0,
            }
        )
    )


def of_nothing(seed: int) -> Family:
    draw = np.random.default_rng(seed)
    return family(chances(*draw.random(4)), steady(draw), alike(draw), usual(draw), 0.05)


def test_where_only_chance_is_at_work_something_is_found_in_one_family_of_twenty():
    every = [of_nothing(seed).tests for seed in range(20)]
    assert all((each.signals, each.evidence) == (20, 4) for each in every)
    assert all(each.segments > 100 for each in every)
    # one family in twenty may hold a find by chance; more than three of twenty do in 2 of 100 draws
    assert sum(each.found > 0 for each in every) <= 3


def test_each_probability_is_adjusted_for_all_the_others():
    draw = np.random.default_rng(1)
    moves, seen, networks = steady(draw), alike(draw), usual(draw)
    assert seen is not None
    found = family(chances(1e-6, None), moves, seen, networks, 0.05)
    p_values = [1e-6, *(one.move.p for one in moves), *seen.p_values, *networks.p_values]
    assert [found.signals["t.0"].value, *found.moves, *found.segments, *found.ranges] == adjusted(p_values)
    assert (found.signals["t.1"].value, found.tests.evidence, found.tests.found) == (None, 1, 1)
    assert found.signals["t.0"].meaning == "chance, adjusted for all that was looked at"


def test_a_signal_that_moved_stands_however_many_clients_there_are():
    draw = np.random.default_rng(2)
    few, many = (
        family(chances(1e-5), steady(draw), None, usual(draw, clients), 0.05) for clients in (50, 20_000)
    )
    assert few.signals["t.0"].value == pytest.approx(many.signals["t.0"].value, rel=0.5)
    assert many.tests.found >= 1


def test_a_figure_that_is_no_probability_by_chance_stays():
    figure = Signal("t.x", 0.03, None, "ratio 0-1", "share", 1.0)
    found = family({"t.x": figure}, (), None, None, 0.05)
    assert (found.signals, found.tests.found, found.tests.evidence) == ({"t.x": figure}, 0, 0)

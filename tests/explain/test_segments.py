"""Which requests stand out: planted ones do, repeats and chance do not, and strata are looked into."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from tracemortem.explain.chance import adjusted
from tracemortem.explain.segments import segments, shown
from tracemortem.findings import Item, Segment

SETTINGS = {
    "segment_risk_ratio": 2.0,
    "segment_support": 0.02,
    "segment_contradiction": 2.0,
    "false_discovery_rate": 0.05,
    "culprit_share": 0.03,
    "culprit_lift": 2.0,
    "culprit_rise": 1.3,
    "culprit_sigmas": 5.0,
}
Attributes = dict[str, np.ndarray]


def standing_out(frame: pl.DataFrame, settings: dict[str, float]) -> tuple[Segment, ...]:
    """The segments, where nothing else is looked at."""
    found = shown(frame)
    return segments(found, adjusted(found.p_values) if found else (), settings)


def requests(
    seed: int,
    of: Callable[[np.random.Generator, Attributes], np.ndarray],
    *,
    number: int = 4000,
    before: int = 4000,
) -> pl.DataFrame:
    """evidence.segment of random requests: ten tenants, three replicas, two paths; `of` says who is slow."""
    draw = np.random.default_rng(seed)
    size = number + before
    values: Attributes = {
        "path": draw.choice(["/chat", "/complete"], size),
        "replica": draw.choice(["r0", "r1", "r2"], size),
        "tenant": draw.choice([f"t{at}" for at in range(10)], size),
    }
    is_during = np.arange(size) < number
    return counted(values, draw.random(size) < of(draw, values), is_during, np.ones(size), draw)


def counted(
    values: Attributes,
    is_slow: np.ndarray,
    is_during: np.ndarray,
    work: np.ndarray,
    draw: np.random.Generator,
) -> pl.DataFrame:
    rows = pl.DataFrame({name: values[name] for name in sorted(values)}).with_columns(
        slow=pl.Series(is_slow & is_during),
        during=pl.Series(is_during),
        work=pl.Series(work),
        part=pl.Series(np.where(is_during, draw.integers(0, 6, is_during.size), 0)),
    )
    names = sorted(values)
    return (
        rows.group_by(*names, "part")
        .agg(
            requests=pl.col("during").sum(),
            slow_requests=pl.col("slow").sum(),
            work_s=pl.col("work").filter("during").sum(),
            requests_before=(~pl.col("during")).sum(),
            work_before_s=pl.col("work").filter(~pl.col("during")).sum(),
        )
        .sort(*names, "part")
        .select(
            attributes=pl.concat_list(*(pl.lit(name) for name in names)),
            items=pl.concat_list(*names),
            part="part",
            requests="requests",
            slow_requests="slow_requests",
            work_s="work_s",
            requests_before="requests_before",
            work_before_s="work_before_s",
            minutes=pl.lit(10.0),
            minutes_before=pl.lit(10.0),
            values_seen=pl.lit(sum(np.unique(values[name]).size for name in names)),
        )
    )


def told(found: tuple[Segment, ...]) -> list[tuple[str, str, dict[str, str]]]:
    return [(one.role, one.by, {item.attribute: item.value for item in one.items}) for one in found]


def test_a_value_whose_requests_are_slow_more_often_is_a_victim():
    frame = requests(1, lambda _, has: np.where(has["replica"] == "r1", 0.4, 0.05))
    [found] = standing_out(frame, SETTINGS)
    assert told((found,)) == [("victim", "slowness", {"replica": "r1"})]
    assert found.low < 8 < found.high
    assert found.slow_ratio == pytest.approx(found.slow_requests / found.requests)
    assert found.q < 1e-9
    assert not found.is_confounded


def test_two_values_that_are_slow_only_together_are_found_together():
    frame = requests(
        2, lambda _, has: np.where((has["tenant"] == "t3") & (has["path"] == "/chat"), 0.4, 0.04)
    )
    assert told(standing_out(frame, SETTINGS)) == [("victim", "slowness", {"path": "/chat", "tenant": "t3"})]


def test_a_value_that_only_repeats_another_is_left_out():
    frame = requests(3, lambda _, has: np.where(has["tenant"] == "t3", 0.4, 0.04))
    doubled = frame.with_columns(
        attributes=pl.concat_list("attributes", pl.lit("user_agent")),
        items=pl.concat_list(
            "items",
            pl.when(pl.col("items").list.get(2) == "t3").then(pl.lit("t3/1.0")).otherwise(pl.lit("others")),
        ),
    )
    assert told(standing_out(doubled, SETTINGS)) == [("victim", "slowness", {"tenant": "t3"})]


def test_two_values_each_slow_for_themselves_are_both_found():
    frame = requests(
        4,
        lambda _, has: np.maximum(
            np.where(has["tenant"] == "t3", 0.4, 0.04), np.where(has["tenant"] == "t7", 0.5, 0.04)
        ),
    )
    assert told(standing_out(frame, SETTINGS)) == [
        ("victim", "slowness", {"tenant": "t7"}),
        ("victim", "slowness", {"tenant": "t3"}),
    ]


def test_nothing_stands_out_by_chance():
    by_seed = [standing_out(requests(seed, lambda *_: np.full(8000, 0.1)), SETTINGS) for seed in range(20)]
    assert by_seed == [()] * 20


def test_of_a_few_slow_requests_nothing_is_said():
    frame = requests(5, lambda _, has: np.where(has["replica"] == "r1", 1.0, 0.0), number=25)
    assert frame["slow_requests"].sum() < 10
    assert standing_out(frame, SETTINGS) == ()


def test_who_brought_the_load_is_a_culprit_though_all_are_slow_alike():
    def of(draw: np.random.Generator, has: Attributes) -> np.ndarray:
        has["tenant"][:1500] = "t9"  # of 4000 in the incident, beside a tenth of the rest
        return np.full(6500, 0.3)

    [found] = standing_out(requests(6, of, before=2500), SETTINGS)
    assert told((found,)) == [("culprit", "load", {"tenant": "t9"})]
    assert found.share_of_excess is not None
    assert found.share_of_excess > 0.9
    assert found.work_share_before < 0.2


def test_who_grew_while_another_shrank_is_no_culprit_beside_the_one_who_brought_the_load():
    draw = np.random.default_rng(8)
    usual = [f"t{at}" for at in range(10)]
    tenant = np.concatenate(
        [np.full(3500, "batch"), np.full(900, "t0"), draw.choice(usual[1:], 1100), draw.choice(usual, 4000)]
    )
    is_during = np.arange(tenant.size) < 5500
    values = {"tenant": tenant, "path": np.full(tenant.size, "/chat")}
    found = standing_out(
        counted(values, draw.random(tenant.size) < 0.5, is_during, np.ones(tenant.size), draw), SETTINGS
    )
    assert told(found) == [("culprit", "load", {"tenant": "batch"})]


def test_without_more_work_than_usual_nobody_is_a_culprit():
    def of(draw: np.random.Generator, has: Attributes) -> np.ndarray:
        has["tenant"][:1500] = "t9"
        return np.full(8000, 0.3)

    assert standing_out(requests(6, of), SETTINGS) == ()


def test_what_looks_faster_and_is_slower_among_its_like_is_found_and_flagged():
    """Simpson's paradox: t9 sends to the quick path, and is slower there and elsewhere than all others."""

    def of(draw: np.random.Generator, has: Attributes) -> np.ndarray:
        own = has["tenant"] == "t9"
        has["path"][own] = np.where(draw.random(own.sum()) < 0.9, "/complete", "/chat")
        has["path"][~own] = np.where(draw.random((~own).sum()) < 0.1, "/complete", "/chat")
        return np.where(has["path"] == "/chat", 0.25, 0.05) * np.where(own, 2.6, 1.0)

    found = standing_out(requests(7, of, number=12000), SETTINGS)
    masked = [one for one in found if one.items == (Item("tenant", "t9"),)]
    assert [one.is_confounded for one in masked] == [True]
    assert masked[0].risk_ratio < 1
    assert masked[0].stratified_ratio == pytest.approx(2.6, rel=0.25)
    assert masked[0].stratified_by == "path"


def test_what_is_slow_only_through_what_it_is_mixed_with_is_not_found_beside_that():
    def of(draw: np.random.Generator, has: Attributes) -> np.ndarray:
        own = has["tenant"] == "t9"
        has["replica"][own] = np.where(draw.random(own.sum()) < 0.9, "r2", "r0")
        return np.where(has["replica"] == "r2", 0.5, 0.03)

    assert told(standing_out(requests(8, of), SETTINGS)) == [("victim", "slowness", {"replica": "r2"})]


def test_without_a_baseline_nothing_stands_out():
    assert standing_out(requests(9, lambda *_: np.full(4000, 0.3), before=0), SETTINGS) == ()


def test_where_requests_have_nothing_recorded_that_they_could_share_nothing_stands_out():
    frame = requests(9, lambda _, has: np.full(8000, 0.3)).with_columns(
        attributes=pl.lit([], dtype=pl.List(pl.String)),
        items=pl.lit([], dtype=pl.List(pl.String)),
        values_seen=pl.lit(None, dtype=pl.Int64),
    )
    assert standing_out(frame, SETTINGS) == ()

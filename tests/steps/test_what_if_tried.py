"""What is said of policies where the replay cannot carry figures, and what that takes."""

from datetime import UTC, datetime

import pytest
from worlds import LIMITS, LONG, served

from tracemortem.findings import Replay
from tracemortem.incident import Impact, Incident
from tracemortem.replay.forecast import replays
from tracemortem.replay.model import Model, calibrated
from tracemortem.replay.policy import Action, Policy
from tracemortem.replay.recorded import requests
from tracemortem.replay.resets import World
from tracemortem.steps import what_if
from tracemortem.steps.what_if import tried
from tracemortem.steps.world import Rebuilt

AT = datetime(2026, 3, 11, 2, 17, tzinfo=UTC)
POLICY = Policy("chunk", "small chunks", 1, (), ())
VALUES = {"recovered_ratio": 1.25, "long_context_tokens": LONG, "policies_replayed_requests": 3e8}
QUEUE = Policy("queue", "short ones first", 1, (), (Action("own_queue", {"from_tokens": LONG}),))
BLOCK = Policy("block", "they are refused", 1, (), (Action("block", {}, ("192.0.2.2/32",)),))
CULPRITS = Policy("culprits", "culprits are refused", 1, (), (Action("block", {}, ("culprits",)),))


class Nothing:
    """A file that must not be asked."""

    def frame(self, sql, params=None):
        raise AssertionError(sql)


def an_incident(replay, baseline=1.2):
    return Incident(
        "i", "edge", "confirmed", AT, None, AT, AT, "p99_s", baseline, 3.0, None, "", "",
        Impact(1, None, None, None, None), replay=replay,
    )  # fmt: skip


def found(replay, baseline=1.2, objective=None):
    return [
        (one.status, one.text, one.fit_error, one.objective_s)
        for one in tried(Nothing(), an_incident(replay, baseline), [POLICY], VALUES, objective)
    ]


@pytest.fixture(scope="module")
def flooded():
    """Long prompts in the second half, all from 192.0.2.2."""
    made = requests(served(is_long=lambda at, chance: chance < (at > 1200) * 0.12, a_second=4.0))
    world = World(calibrated(made, LIMITS), made, made.rest)
    clients = ("192.0.2.1", "192.0.2.2")
    replicas = ("engine-0", "engine-1")
    return Rebuilt(world, clients, replicas, 0.0, 1.0, "recorded", is_size_told=True, inferred=None)


@pytest.fixture
def told(flooded, monkeypatch):
    """Tries policies on it; what is said of them, and how often the requests were replayed."""
    monkeypatch.setattr(what_if, "rebuilt", lambda *_: flooded)
    times, replays = Model.times, []

    def counted(model, made, *options):
        replays.append(len(made.prompt))
        return times(model, made, *options)

    monkeypatch.setattr(Model, "times", counted)

    def of(status, *chosen, **values):
        replays.clear()
        replay = Replay(
            status, "As replayed.", before_recorded_s=1.0, before_replayed_s=1.0, during_recorded_s=3.0,
            during_replayed_s=3.0,
        )  # fmt: skip
        return tried(Nothing(), an_incident(replay), chosen, {**VALUES, **values}, None), len(replays)

    return of


def test_an_incident_that_was_not_replayed_has_no_policies_tried():
    assert found(None) == []


def test_without_a_replay_a_policy_is_not_available_for_the_replay_s_reason():
    assert found(Replay("not_available", "Not available: no spans.")) == [
        ("not_available", "Not available: no spans.", None, 1.5)
    ]


@pytest.mark.parametrize("which", ["before", "during"])
@pytest.mark.parametrize(("recorded_s", "replayed_s"), [(None, 3.0), (3.0, None), (0.0, 3.0)])
def test_a_replay_of_which_nobody_knows_how_well_it_agrees_carries_nothing(which, recorded_s, replayed_s):
    known = dict.fromkeys(
        ("before_recorded_s", "before_replayed_s", "during_recorded_s", "during_replayed_s"), 3.0
    )
    unknown = {f"{which}_recorded_s": recorded_s, f"{which}_replayed_s": replayed_s}
    replay = Replay("quantified", "", **{**known, **unknown})
    assert found(replay) == [
        (
            "not_available",
            "Not available: how well the replay agrees with the recording is not known.",
            None,
            1.5,
        )
    ]


def test_without_a_baseline_and_an_objective_there_is_none_to_keep():
    replay = Replay("not_available", "Not available: no spans.")
    assert [row[3] for row in found(replay, baseline=None)] == [None]
    assert [row[3] for row in found(replay, baseline=None, objective="p99=800ms")] == [0.8]


def test_an_order_takes_one_replay_a_policy_and_is_that_of_the_figures(told):
    chosen = QUEUE, CULPRITS, BLOCK
    in_order, once = told("ranked", *chosen)
    assert [(one.status, one.text, one.rank, one.keeps, one.predicted) for one in in_order] == [
        ("ranked", "As replayed.", 2, None, None),
        ("not_available", "Not available: no address range is known as a culprit.", None, None, None),
        ("ranked", "As replayed.", 1, None, None),
    ]
    assert once == 2
    figures, often = told("quantified", *chosen)
    assert [one.rank for one in figures] == [2, None, 1]
    assert often > 10 * once


def test_a_policy_that_serves_nobody_has_no_rank(told):
    nobody = Policy("none", "none", 1, (), (Action("block", {}, ("0.0.0.0/0",)),))
    rows, _ = told("ranked", nobody, QUEUE)
    assert [(one.status, one.rank) for one in rows] == [("ranked", None), ("ranked", 1)]


def test_what_forecasts_take_is_foretold(told):
    _, often = told("quantified", QUEUE, BLOCK)
    # 8 for the queue; 9 where load is kept away: the cache as before; each of 5 calibrations counts as 8
    assert replays([QUEUE, BLOCK]) == 8 + 9 + 5 * 8
    assert often == 8 + 9 + 5 * 2


def test_of_more_requests_than_are_replayed_ranges_are_not_calculated_and_the_order_is_told(told, flooded):
    count = len(flooded.world.made.prompt)
    most = float(count * replays([QUEUE, BLOCK]))
    rows, _ = told("quantified", QUEUE, BLOCK, policies_replayed_requests=most)
    assert [one.status for one in rows] == ["quantified"] * 2
    rows, often = told("quantified", QUEUE, BLOCK, policies_replayed_requests=most - 1)
    assert [(one.status, one.rank, one.predicted, one.keeps) for one in rows] == [
        ("ranked", 2, None, None),
        ("ranked", 1, None, None),
    ]
    assert often == 2
    assert {one.text for one in rows} == {
        "Ranges are not calculated, and no figure is told without one: policies would take as long as 57 "
        f"replays of {count:,} requests, and for an incident policies_replayed_requests allows "
        f"{most - 1:,.0f} replayed requests. what-if tells more of fewer policies (--policy), or with a "
        "higher number (--set)."
    }


@pytest.mark.parametrize("status", ["quantified", "ranked"])
def test_where_one_replay_a_policy_is_beyond_it_nothing_is_told_and_nothing_replayed(told, flooded, status):
    most = float(2 * len(flooded.world.made.prompt))
    rows, often = told(status, QUEUE, BLOCK, policies_replayed_requests=most)
    assert ({one.status for one in rows}, often) == ({"ranked"}, 2)
    rows, often = told(status, QUEUE, BLOCK, policies_replayed_requests=most - 1)
    assert ({one.status for one in rows}, often) == ({"not_available"}, 0)
    assert rows[0].text.startswith("Not available: policies would take as long as 2 replays of")

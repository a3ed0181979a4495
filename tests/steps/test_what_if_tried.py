"""What is said of policies where the replay cannot carry them."""

from datetime import UTC, datetime

import pytest

from tracemortem.findings import Replay
from tracemortem.incident import Impact, Incident
from tracemortem.replay.policy import Policy
from tracemortem.steps.what_if import tried

AT = datetime(2026, 3, 11, 2, 17, tzinfo=UTC)
POLICY = Policy("chunk", "small chunks", 1, (), ())
VALUES = {"recovered_ratio": 1.25}


class Nothing:
    """A file that must not be asked."""

    def frame(self, sql, params=None):
        raise AssertionError(sql)


def found(replay, baseline=1.2, objective=None):
    incident = Incident(
        "i", "edge", "confirmed", AT, None, AT, AT, "p99_s", baseline, 3.0, None, "", "",
        Impact(1, None, None, None, None), replay=replay,
    )  # fmt: skip
    return [
        (one.status, one.text, one.fit_error, one.objective_s)
        for one in tried(Nothing(), incident, [POLICY], VALUES, objective)
    ]


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

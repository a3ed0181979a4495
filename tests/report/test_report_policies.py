"""P99 by policy with its range: what the picture shows, and where."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from tracemortem.errors import DefinitionError
from tracemortem.findings import Forecast, Range, Replay, WhatIf
from tracemortem.folders import folder
from tracemortem.report.policies import policies
from tracemortem.report.sections import sections, words

WORDS = words([folder("reports")])
FORECAST = Forecast(
    p50_s=None, p99_s=None, short_p50_s=None, short_p99_s=None, long_p50_s=None, long_p99_s=None,
    before_p99_s=None, hit_ratio=None, rejected=0, rejected_before=0, unfit=0, elsewhere=0, cut=0, requests=9,
)  # fmt: skip


def a_policy(name, p99, **changed):
    told = {
        "policy": name, "title": name, "status": "quantified", "text": "", "effort": 1, "assumes": (),
        "rank": 1, "fit_error": 0.1, "objective_s": 2.0, "keeps": "no", "is_cheapest": False,
        "predicted": p99 and replace(FORECAST, p99_s=Range(*p99)),
    }  # fmt: skip
    return WhatIf(**{**told, **changed})


@pytest.fixture
def drawn(told):
    """The picture of these policies, as elements."""

    def of(*rows, replayed_s=10.0):
        replay = Replay("quantified", "", during_replayed_s=replayed_s)
        incident = replace(told.diagnosis.incidents[0], what_if=rows, replay=replay)
        return ET.fromstring(policies(incident, WORDS))

    return of


def texts(picture, kind):
    return [one.text for one in picture if one.get("class") == kind]


def places(picture, kind):
    """The numbers in the paths and circles of a kind."""
    found = [one for one in picture if (one.get("class") or "").split(" ")[0] == kind]
    return [
        [float(number) for number in re.findall(r"[\d.]+", one.get("d") or one.get("cx"))] for one in found
    ]


def test_policies_stand_by_their_p99_each_with_its_figure(drawn):
    picture = drawn(a_policy("slow", (20.0, 10.0, 50.0)), a_policy("good", (2.0, 1.0, 5.0), is_cheapest=True))
    assert (texts(picture, "cheapest"), texts(picture, "policy")) == (["good"], ["slow"])
    assert texts(picture, "tick")[-2:] == ["2 s", "20 s"]


def test_equal_ratios_have_equal_lengths(drawn):
    picture = drawn(a_policy("slow", (20.0, 10.0, 50.0)), a_policy("good", (2.0, 1.0, 5.0)))
    (good_low, _, good_high), (slow_low, _, slow_high) = places(picture, "range")
    [good], [slow] = places(picture, "value")
    assert slow - good == pytest.approx(slow_low - good_low, abs=0.2)
    assert slow_high - slow_low == pytest.approx(good_high - good_low, abs=0.2)
    assert good_low < good < good_high


def test_the_objective_and_the_p99_without_a_policy_are_level_lines_with_names(drawn):
    picture = drawn(a_policy("good", (2.0, 1.0, 5.0)), replayed_s=5.0)
    [[value]] = places(picture, "value")
    [[objective, *_]] = places(picture, "level-objective")
    [[without, *_]] = places(picture, "level-without")
    assert (objective, without) == (value, places(picture, "range")[0][2])
    assert texts(picture, "name-objective") == ["held to 2 s"]
    assert texts(picture, "name-without") == ["without any 5 s"]


def test_without_an_objective_no_line_stands_for_it(drawn):
    picture = drawn(a_policy("good", (2.0, 1.0, 5.0), objective_s=None))
    assert places(picture, "level-objective") == []


def test_what_keeps_the_objective_for_sure_is_filled(drawn):
    picture = drawn(a_policy("good", (1.0, 0.5, 1.5), keeps="yes"), a_policy("bad", (3.0, 2.5, 4.0)))
    assert [one.get("class") for one in picture if one.tag == "circle"] == ["value kept", "value"]


def test_a_range_that_reaches_down_to_nothing_ends_with_the_axis(drawn):
    picture = drawn(a_policy("good", (2.0, 0.0, 5.0), objective_s=None), replayed_s=5.0)
    [[low, _, high]] = places(picture, "range")
    assert (low, high) == (132.0, 656.0)


def test_without_figures_there_is_no_picture(told):
    incident = replace(told.diagnosis.incidents[0], what_if=(a_policy("lost", None),))
    assert policies(incident, WORDS) == ""


def test_a_picture_that_nobody_draws_is_refused(tmp_path):
    (tmp_path / "postmortem.yaml").write_text(
        "sections: [{section: a, title: A, for: incident, picture: cats}]", encoding="utf-8"
    )
    with pytest.raises(DefinitionError, match="section 'a' has the picture 'cats'"):
        sections([tmp_path])

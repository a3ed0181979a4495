"""What is offered to be applied, and where nothing is."""

import re
from dataclasses import replace

import pytest
import yaml

from tracemortem.findings import Alert
from tracemortem.report.remedies import alert_rules, rate_limit, remedies


def alert(rule: str, status: str = "fired", promql: str | None = "up > 1") -> Alert:
    return Alert(rule, status, None, None, None, f"{rule} above 1, for 5 min; false alarms: 0", promql, 5)


@pytest.fixture
def culprits(told):
    """The culprit ranges of the made-up incident, with what they usually send a minute."""
    sources = [one for one in told.diagnosis.incidents[0].sources if one.role == "culprit"]
    return [replace(one, usual_per_minute=usual) for one, usual in zip(sources, (0.0, 3.0, 1.2), strict=True)]


def test_the_limit_is_what_the_ranges_together_usually_send_a_minute(culprits):
    text = rate_limit(culprits, "culprits")
    assert "rate=5r/m;" in text
    assert re.findall(r"^    (\S+) culprit;$", text, re.MULTILINE) == [one.cidr for one in culprits]


def test_ranges_that_usually_send_nothing_may_send_one_request_a_minute(culprits):
    assert "rate=1r/m;" in rate_limit([replace(one, usual_per_minute=0.0) for one in culprits], "culprits")


def test_without_a_range_or_where_a_usual_rate_is_not_known_there_is_no_limit(culprits):
    unknown = [*culprits[:2], replace(culprits[2], usual_per_minute=None)]
    assert [rate_limit([], "culprits"), rate_limit(unknown, "culprits")] == ["", ""]


def test_names_are_the_incident_s_whatever_a_service_is_called(told, culprits):
    hostile = 'x"; }\n{{ $labels }}' + "y" * 200
    incident = replace(told.diagnosis.incidents[0], id=hostile, sources=culprits, alerts=(alert("rise"),))
    found = remedies(incident)
    assert set(re.findall(r"\$(\w+)", found["rate_limit"])) == {"culprits_x_labels_" + "y" * 71}
    assert yaml.safe_load(found["alert_rules"])["groups"][0]["name"] == "x_labels_" + "y" * 71


def test_rules_that_would_have_fired_and_have_a_query_are_offered(told):
    offered = alert_rules(
        [alert("hit_ratio_drop"), alert("quiet", "silent"), alert("unknown", promql=None)], "night"
    )
    assert yaml.safe_load(offered) == {
        "groups": [
            {
                "name": "night",
                "rules": [
                    {
                        "alert": "HitRatioDrop",
                        "expr": "up > 1",
                        "for": "5m",
                        "annotations": {"summary": "as in night: hit_ratio_drop above 1, for 5 min"},
                    }
                ],
            }
        ]
    }


def test_without_a_rule_that_fired_there_is_no_file():
    assert alert_rules([alert("quiet", "silent")], "night") == ""

"""What is offered to be applied, and where nothing is."""

from dataclasses import replace

import pytest
import yaml

from tracemortem.findings import Alert
from tracemortem.report.remedies import alert_rules, rate_limit, remedies


def alert(rule: str, status: str = "fired", promql: str | None = "up > 1") -> Alert:
    return Alert(rule, status, None, None, None, f"{rule} above 1, for 5 min; false alarms: 0", promql, 5)


@pytest.fixture
def culprits(told):
    """The culprit ranges of the made-up incident, with what they usually send in its 29 minutes."""
    sources = [one for one in told.diagnosis.incidents[0].sources if one.role == "culprit"]
    return [replace(one, usual_requests=usual) for one, usual in zip(sources, (0.0, 87.5, 29.0), strict=True)]


def test_the_limit_is_what_the_busiest_range_usually_sends_a_minute(culprits):
    text = rate_limit(culprits, 29.0)
    assert "rate=4r/m;" in text
    assert [line.split()[0] for line in text.splitlines() if line.startswith("    ")][1:] == [
        one.cidr for one in culprits
    ]


def test_ranges_that_usually_send_nothing_may_send_one_request_a_minute(culprits):
    assert "rate=1r/m;" in rate_limit([replace(one, usual_requests=0.0) for one in culprits], 29.0)


def test_without_a_range_or_its_usual_rate_or_a_duration_there_is_no_limit(culprits):
    unknown = [replace(one, usual_requests=None) for one in culprits]
    assert [rate_limit([], 29.0), rate_limit(unknown, 29.0), rate_limit(culprits, 0.0)] == [""] * 3


def test_an_incident_without_an_end_has_lasted_until_the_recording_ends(told, culprits):
    incident = replace(told.diagnosis.incidents[0], sources=culprits)
    whole = remedies(incident, None)["rate_limit"]
    assert remedies(replace(incident, end=None), incident.end)["rate_limit"] == whole != ""
    assert remedies(replace(incident, end=None), None)["rate_limit"] == ""


def test_rules_that_would_have_fired_and_have_a_query_are_offered(told):
    offered = alert_rules([alert("hit_ratio_drop"), alert("quiet", "silent"), alert("unknown", promql=None)])
    assert yaml.safe_load(offered) == {
        "groups": [
            {
                "name": "llm_serving",
                "rules": [
                    {
                        "alert": "HitRatioDrop",
                        "expr": "up > 1",
                        "for": "5m",
                        "annotations": {"summary": "hit_ratio_drop above 1, for 5 min"},
                    }
                ],
            }
        ]
    }


def test_without_a_rule_that_fired_there_is_no_file():
    assert alert_rules([alert("quiet", "silent")]) == ""

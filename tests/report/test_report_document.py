"""report.json: the contract's form, and nothing that it forbids."""

import re
from dataclasses import replace
from datetime import datetime

import orjson
import pytest
from jsonschema import ValidationError

from tracemortem.incident import Annotation, Diagnosis
from tracemortem.report.document import checked, document, encoded

MADE = datetime.fromisoformat("2026-03-11T08:00:00+00:00")


def report_of(told):
    return document(told.diagnosis, product_version="0.1.0", created_at=MADE)


def first(told):
    return report_of(told)["incidents"][0]


def test_the_report_holds_to_its_own_schema(told):
    report = report_of(told)
    assert checked(report) is report


def test_a_report_without_incidents_holds_too():
    empty = Diagnosis(None, None, "Asia/Shanghai", inputs=(), quality=())
    report = checked(document(empty, product_version="0.1.0", created_at=MADE))
    assert report == {
        "schema": "tracemortem.report/1",
        "product_version": "0.1.0",
        "created_at": "2026-03-11T08:00:00Z",
        "window": {"from": None, "to": None, "timezone": "Asia/Shanghai"},
        "inputs": [],
        "quality": [],
        "incidents": [],
    }


def test_an_incident_has_the_fields_of_the_contract_in_its_order(told):
    assert " ".join(first(told)) == (
        "id service status start end onset metric baseline peak peak_minute baseline_from reason annotation"
        " impact causes not_causes sources segments decomposition timeline mitigation what_if signals alerts"
        " replay placebo tests"
    )


def test_a_cause_is_told_with_role_verdict_share_and_evidence(told):
    assert first(told)["causes"][1] == {
        "kind": "cache_pollution",
        "role": "contributing",
        "verdict": "likely",
        "confidence": 0.78,
        "share": {"value": 0.22, "low": 0.1, "high": 0.35},
        "text": "The long prompts took the KV blocks of others: hits fell while evictions rose eightfold.",
        "evidence": [
            {
                "id": "E3",
                "text": "prefix-cache hits",
                "value": 0.617,
                "baseline": 0.912,
                "unit": "ratio",
                "sql": "sql/evidence/cache_drop.sql",
            },
            {
                "id": "E4",
                "text": "evictions",
                "value": 142.0,
                "baseline": 18.0,
                "unit": "1/min",
                "sql": "sql/evidence/cache_drop.sql",
            },
        ],
    }


def test_what_is_not_known_is_null(told):
    assert report_of(told)["incidents"][1]["impact"] == {
        "requests": 412,
        "requests_slowed": None,
        "clients": None,
        "excess_seconds": None,
        "errors": None,
    }


def test_a_number_that_is_none_becomes_null(told):
    assert first(told.with_incident(peak=float("nan")))["peak"] is None


def test_instants_are_said_in_utc(told):
    elsewhere = datetime.fromisoformat("2026-03-11T10:17:00.250000+08:00")
    assert first(told.with_incident(start=elsewhere))["start"] == "2026-03-11T02:17:00.250000Z"


def test_an_instant_without_a_zone_is_refused(told):
    naive = datetime(2026, 3, 11, 2, 17)  # noqa: DTZ001
    with pytest.raises(ValueError, match="2026-03-11T02:17:00 carries no time zone"):
        report_of(told.with_incident(start=naive))


def test_an_incident_still_going_on_has_no_end(told):
    report = report_of(told.with_incident(end=None))
    assert checked(report)["incidents"][0]["end"] is None


def test_a_path_that_is_not_utf_8_can_be_written(told):
    strange = replace(told.diagnosis.inputs[0], path="logs/caf\udce9.gz")
    report = document(replace(told.diagnosis, inputs=(strange,)), product_version="0.1.0", created_at=MADE)
    assert orjson.loads(encoded(checked(report)))["inputs"][0]["path"] == "logs/caf\\udce9.gz"


def test_the_same_diagnosis_gives_the_same_bytes(told):
    assert encoded(report_of(told)) == encoded(report_of(told))


@pytest.mark.parametrize(
    ("place", "value", "complaint"),
    [
        (("schema",), "tracemortem.report/2", "'tracemortem.report/1' was expected"),
        (("created_at",), "2026-03-11 08:00", "does not match"),
        (("inputs", 0, "sha256"), "unknown", "does not match"),
        (("inputs", 0, "rows"), 1.5, "is not of type 'integer'"),
        (("quality", 0, "status"), "good", "is not one of"),
        (("incidents", 0, "status"), "probable", "is not one of"),
        (("incidents", 0, "peak"), "3.79", "is not of type 'number', 'null'"),
        (("incidents", 0, "causes", 0, "kind"), "gremlins", "is not one of"),
        (("incidents", 0, "causes", 0, "verdict"), "ruled_out", "is not one of"),
        (("incidents", 0, "causes", 0, "confidence"), 93, "is greater than the maximum"),
        (("incidents", 0, "not_causes", 0, "verdict"), "likely", "is not one of"),
        (("incidents", 0, "sources", 0, "share_of_excess"), -0.1, "is less than the minimum"),
        (("incidents", 0, "mitigation", 0, "status"), "worked", "is not one of"),
    ],
)
def test_a_value_outside_the_contract_is_refused(told, place, value, complaint):
    report = report_of(told)
    found = report
    for key in place[:-1]:
        found = found[key]
    found[place[-1]] = value
    with pytest.raises(ValidationError, match=re.escape(complaint)):
        checked(report)


def test_a_missing_field_is_refused(told):
    report = report_of(told)
    del report["incidents"][0]["onset"]
    with pytest.raises(ValidationError, match="'onset' is a required property"):
        checked(report)


def test_a_field_may_be_added(told):
    report = report_of(told)
    report["incidents"][0]["error_budget"] = None
    assert checked(report) is report


def test_what_somebody_said_of_an_incident_is_told_with_who_and_why(told):
    said = Annotation("x", "chat", told.diagnosis.incidents[0].start, None, "confirmed", None, "Jo", "felt")
    found = first(told.with_incident(annotation=said))
    assert found["annotation"] == {"verdict": "confirmed", "cause": None, "by": "Jo", "note": "felt"}

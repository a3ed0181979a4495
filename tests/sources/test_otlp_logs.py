"""An OTLP log record is a row with its time, its severity and its body as a text."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tracemortem.sources import otlp
from tracemortem.sources.batch import Batch
from tracemortem.sources.otlp_logs import SCHEMA

NS = 1777142984578685500
AT = datetime(2026, 4, 25, 18, 49, 44, 578685, tzinfo=UTC)
TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"


def read(*records: dict[str, Any]) -> Batch:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "llm"}}]}
    scope_logs = [{"scope": {"name": "app"}, "logRecords": list(records)}]
    line = json.dumps({"resourceLogs": [{"resource": resource, "scopeLogs": scope_logs}]})
    (batch,) = otlp.read(io.BytesIO(f"{line}\n".encode()))
    return batch


def row(**fields: Any) -> dict[str, Any]:
    (found,) = read({"timeUnixNano": str(NS), **fields}).rows["log"].to_dicts()
    return found


def test_the_rows_have_the_declared_columns():
    assert read({"timeUnixNano": str(NS)}).rows["log"].schema == SCHEMA


def test_a_log_record_says_what_stands_in_it():
    written = {
        "severityNumber": 17,
        "severityText": "ERROR",
        "body": {"stringValue": "out of blocks"},
        "traceId": TRACE,
        "spanId": SPAN,
    }
    assert row(**written) == {
        "line": 1,
        "at": AT,
        "severity_number": 17,
        "severity": "ERROR",
        "body": "out of blocks",
        "service": "llm",
        "host": None,
        "replica": None,
        "trace_id": TRACE,
        "span_id": SPAN,
    }


def test_what_is_not_given_is_null():
    empty = row(severityNumber=0, severityText="", body={}, traceId="", spanId="0" * 16)
    assert [empty[name] for name in ("severity_number", "severity", "body", "trace_id", "span_id")] == [
        None
    ] * 5


@pytest.mark.parametrize("time", [None, "0", "", "noon"])
def test_without_its_own_time_a_record_has_that_of_its_observer(time):
    fields = {} if time is None else {"timeUnixNano": time}
    (found,) = read({**fields, "observedTimeUnixNano": str(NS)}).rows["log"]["at"]
    assert found == AT


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "no timeUnixNano"),
        ({"timeUnixNano": "0", "observedTimeUnixNano": "0"}, "no timeUnixNano"),
        (
            {"timeUnixNano": "18446744073709551000"},
            "timeUnixNano is no time in nanoseconds: 18446744073709551000",
        ),
    ],
)
def test_a_record_without_any_time_is_a_reject(fields, reason):
    batch = read({**fields, "body": {"stringValue": "when?"}})
    assert (batch.records, batch.stored, batch.rejects["reason"].to_list()) == (1, 0, [reason])


def test_an_id_that_is_none_only_points_elsewhere_and_is_null():
    assert (row(traceId="ABC")["trace_id"], row(spanId="ABC")["span_id"]) == (None, None)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"stringValue": "a"}, "a"),
        ({"intValue": "7"}, "7"),
        ({"doubleValue": 0.25}, "0.25"),
        ({"boolValue": False}, "false"),
        ({"arrayValue": {"values": [{"stringValue": "a"}, {"stringValue": "b"}]}}, "a, b"),
        ({"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}}, '["a", 1]'),
        ({"kvlistValue": {"values": [{"key": "a", "value": {"boolValue": True}}]}}, '{"a": true}'),
        (
            {"kvlistValue": {"values": [{"key": "a", "value": {"intValue": "7" * 5000}}]}},
            f'{{"a": "{"7" * 5000}"}}',
        ),
        ({"kvlistValue": {}}, "{}"),
        ({"bytesValue": "AAEC"}, "AAEC"),
    ],
)
def test_a_body_is_a_text_whatever_it_is(body, text):
    assert row(body=body)["body"] == text

"""An event is a time with its zone, a kind and a text; any other line is a reject."""

import io
from datetime import UTC, datetime

import pytest

from tracemortem.sources import events


def read(text: str):
    (batch,) = events.read(io.BytesIO(text.encode()))
    assert batch.records == batch.stored + batch.rejects.height
    return batch


def test_an_event_is_read_with_its_line_and_in_utc():
    batch = read('\n{"time": "2026-02-03T12:02:07.5+01:00", "kind": "deploy", "text": "v2", "who": "x"}\n')
    at = datetime(2026, 2, 3, 11, 2, 7, 500000, UTC)
    assert batch.rows["event"].rows() == [(2, at, "deploy", "v2")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[1]", "not a JSON object"),
        ('{"kind": "deploy", "text": "v2"}', "no text under 'time'"),
        ('{"time": "2026-02-03T12:02:07Z", "kind": 1, "text": "v2"}', "no text under 'kind'"),
        ('{"time": "2026-02-03T12:02:07Z", "kind": "deploy", "text": null}', "no text under 'text'"),
        (
            '{"time": "0001-01-01T00:00:00+14:00", "kind": "deploy", "text": "v2"}',
            "time is not RFC 3339: 0001-01-01T00:00:00+14:00",
        ),
        ('{"time": "yesterday", "kind": "deploy", "text": "v2"}', "time is not RFC 3339: yesterday"),
        (
            '{"time": "2026-02-03T12:02:07", "kind": "deploy", "text": "v2"}',
            "time has no zone: 2026-02-03T12:02:07",
        ),
    ],
)
def test_a_line_that_is_no_event_is_a_reject(line: str, reason: str):
    batch = read(line + "\n")
    assert (batch.stored, batch.rejects.rows()) == (0, [(1, reason, line)])


def test_a_line_that_is_not_json_is_a_reject():
    reason = read('{"time": "2026-0\n').rejects["reason"][0]
    assert reason.startswith("not JSON: ")

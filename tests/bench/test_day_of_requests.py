"""The made-up day is read whole, and its slow hour is found with its cause."""

import json

import pytest
from day_of_requests import write

from tracemortem import pipeline
from tracemortem.settings import Settings


@pytest.mark.soak
def test_the_slow_hour_of_a_day_is_found_with_its_cause_and_its_range(tmp_path):
    inputs, out = tmp_path / "in", tmp_path / "out"
    inputs.mkdir()
    write(inputs, 20_000)
    outcome = pipeline.postmortem(Settings((str(inputs),), out=str(out)))
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    (incident,) = [one for one in report["incidents"] if one["status"] == "confirmed"]
    assert (outcome.requests, outcome.rejected_share) == (20_000, 0)
    assert (incident["start"][11:16], incident["causes"][0]["kind"]) == ("13:53", "long_context_surge")
    assert [source["cidr"] for source in incident["sources"] if source["role"] == "culprit"] == [
        "203.0.113.0/24"
    ]

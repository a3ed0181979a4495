"""The sample incident, replayed: what goes without its cause, and what is said where that cannot be told."""

import gzip
import json
import shutil

import pytest

from tracemortem import pipeline
from tracemortem.replay.resets import RESETS
from tracemortem.settings import Settings
from tracemortem.warehouse import ask

pytestmark = pytest.mark.slow


def told(incident: dict) -> tuple[dict, dict]:
    """Its replay, and the shares of its causes."""
    return incident["replay"], {cause["kind"]: cause["share"] for cause in incident["causes"]}


@pytest.fixture
def sample(night):
    out, incident = night
    return *told(incident), out


def test_most_of_the_rise_goes_without_the_long_prompts(sample):
    replay, shares, _ = sample
    gone = {reset["name"]: reset["share"] for reset in replay["resets"]}
    assert (replay["status"], tuple(gone)) == ("quantified", tuple(RESETS))
    assert gone["long"] > 0.5 > max(gone["speed"], gone["front"], gone["outputs"])
    assert shares["long_context_surge"]["value"] == gone["long"]
    assert shares["memory_bandwidth_saturation"] == {"value": None, "low": None, "high": None}


def test_the_report_says_what_undoing_shows_and_how_well_the_replay_agrees(sample):
    replay, _, out = sample
    text = (out / "report.md").read_text(encoding="utf-8")
    assert replay["text"] in text
    assert "| as many long prompts a minute as before |" in text


def test_the_p99_by_minute_as_recorded_is_that_of_the_tables_and_the_replay_follows_it(sample):
    *_, out = sample
    both = ask.sql(
        out / "tracemortem.duckdb",
        """
        select
            count(*) as minutes,
            count(course.unchanged_p99_s) as after,
            count_if(abs(course.recorded_p99_s - latency.p99_s) < 1e-6) as same,
            corr(course.recorded_p99_s, course.replayed_p99_s) as agreement
        from meta.replay_minute as course
        inner join mart.latency_minute as latency
            on course.minute = latency.minute and latency.service = 'counsel'
        """,
    )
    [(minutes, after, same, agreement)] = both.iter_rows()
    assert (minutes, after, same) == (118, 30, 118)
    assert agreement > 0.9


def test_what_ended_the_incident_is_told_from_the_requests_after_it_and_stands_in_the_report(sample):
    *_, out = sample
    [incident] = json.loads((out / "report.json").read_text(encoding="utf-8"))["incidents"]
    [action] = incident["mitigation"]
    engines, cache_too = [fact for fact in action["evidence"] if fact["id"].startswith("replay.")]
    # the sample's surge is kept out by a rule at the gateway: the engines were never mended
    assert engines["value"] < 1.25 * incident["baseline"]
    assert "the requests that changed" in cache_too["text"]
    assert engines["text"] in (out / "report.md").read_text(encoding="utf-8")


def test_with_half_of_the_traces_no_replay_is_available(repo_root, tmp_path):
    part = tmp_path / "in"
    shutil.copytree(repo_root / "data_samples" / "seed_night", part)
    for file in (part / "otel").iterdir():
        lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
        file.write_bytes(gzip.compress(b"".join(lines[::2])))
    out = tmp_path / "out"
    pipeline.postmortem(Settings((str(part),), out=str(out)))
    incidents = json.loads((out / "report.json").read_text(encoding="utf-8"))["incidents"]
    [incident] = [incident for incident in incidents if incident["status"] == "confirmed"]
    replay, shares = told(incident)
    assert (replay["status"], replay["resets"]) == ("not_available", [])
    assert "are not recorded" in replay["text"]
    assert {tuple(share.values()) for share in shares.values()} == {(None, None, None)}

"""The whole road on recordings that nobody here wrote; skipped where they are not at hand.

The figures are those of the recordings' own label, which no code under pipelines/ reads.
"""

import gzip
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tracemortem import cli

pytestmark = pytest.mark.slow
Report = Mapping[str, Any]


def made(recording: Path, folder: Path) -> Path:
    code = cli.main(["postmortem", str(recording), "--out", str(folder), "--quiet"])
    assert code == cli.DONE
    return folder


@pytest.fixture(scope="module")
def seed(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(shared / "incidents" / "seed_incident", tmp_path_factory.mktemp("seed"))


@pytest.fixture(scope="module")
def report(seed: Path) -> Report:
    return json.loads((seed / "report.json").read_text())


@pytest.fixture(scope="module")
def incident(report: Report) -> Report:
    confirmed = [entry for entry in report["incidents"] if entry["status"] == "confirmed"]
    assert len(confirmed) == 1
    return confirmed[0]


def verdicts(incident: Report) -> dict[str, str]:
    return {entry["kind"]: entry["verdict"] for entry in incident["not_causes"]}


def test_the_seed_incident_is_a_long_context_surge(incident: Report):
    assert [(cause["kind"], cause["role"]) for cause in incident["causes"]][:2] == [
        ("long_context_surge", "primary"),
        ("cache_pollution", "contributing"),
    ]


def test_the_three_ranges_that_sent_it_are_the_culprits(incident: Report):
    culprits = {source["cidr"] for source in incident["sources"] if source["role"] == "culprit"}
    assert culprits == {"31.228.85.0/24", "163.216.172.0/24", "23.102.127.0/24"}


def test_the_long_prompts_brought_the_load_and_nobody_was_slow_for_more_than_that(incident: Report):
    found = [(one["role"], one["by"], one["items"][0]["attribute"]) for one in incident["segments"]]
    assert found[0] == ("culprit", "load", "prompt_tokens")
    assert {(role, by) for role, by, _ in found} == {("culprit", "load")}


def test_latency_before_and_during_is_what_the_label_says(incident: Report):
    assert incident["baseline"] == pytest.approx(1.22, rel=0.1)
    assert incident["peak"] == pytest.approx(3.50, rel=0.1)


def test_cache_hits_before_and_during_are_what_the_label_says(incident: Report):
    evidence = {e["id"]: e for cause in incident["causes"] for e in cause["evidence"]}["cache.hit_ratio"]
    assert evidence["baseline"] == pytest.approx(0.9246, abs=0.03)
    assert evidence["value"] == pytest.approx(0.6219, abs=0.03)


def test_the_onset_is_within_two_minutes(incident: Report):
    start = datetime.fromisoformat(incident["start"])
    assert abs((start - datetime.fromisoformat("2026-04-24T02:17:00Z")).total_seconds()) <= 120


def test_the_mitigation_is_verified_and_the_end_follows_it(incident: Report):
    [mitigation] = incident["mitigation"]
    assert mitigation["status"] == "verified"
    lag = datetime.fromisoformat(incident["end"]) - datetime.fromisoformat(mitigation["at"])
    assert -60 <= lag.total_seconds() <= 300


def test_a_gpu_fault_is_ruled_out(incident: Report):
    assert verdicts(incident)["gpu_fault"] == "ruled_out"


def test_every_kind_is_either_blamed_or_in_the_ledger(incident: Report):
    blamed = {cause["kind"] for cause in incident["causes"]}
    assert len(blamed | set(verdicts(incident))) == 17
    assert not blamed & set(verdicts(incident))


def lines_of(path: Path) -> list[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as stream:
        return stream.read().splitlines()


def records_of(path: Path) -> int:
    """Counted plainly: spans of OTLP, samples of metrics, else lines."""
    lines = lines_of(path)
    if "otel" in path.parts:
        return sum(
            len(scope["spans"])
            for line in lines
            for resource in json.loads(line)["resourceSpans"]
            for scope in resource["scopeSpans"]
        )
    return sum(1 for line in lines if line and not line.startswith("#"))


def test_every_record_of_every_input_is_stored_or_rejected(shared: Path, report: Report):
    recording = shared / "incidents" / "seed_incident"
    counted = {
        path: records_of(recording / path)
        for path in ("otel/spans.jsonl.gz", "nginx/access.log.gz", "dcgm/gpu.prom.gz", "vllm/metrics.prom.gz",
                     "events.jsonl")
    }  # fmt: skip
    found = {entry["path"]: entry["rows"] + entry["rejects"] for entry in report["inputs"]}
    assert {path: found[path] for path in counted} == counted


def test_what_is_no_telemetry_is_listed_as_skipped(report: Report):
    skipped = [entry["path"] for entry in report["inputs"] if entry["kind"] == "skipped"]
    assert skipped == ["truth.json"]


def test_every_table_and_column_of_the_published_file_says_what_it_means(seed: Path):
    with duckdb.connect(seed / "tracemortem.duckdb", read_only=True) as con:
        silent = con.execute(
            "select table_name, null from duckdb_tables() where comment is null union all "
            "select table_name, column_name from duckdb_columns() where not internal and comment is null"
        ).fetchall()
    assert silent == []


def test_a_quiet_recording_confirms_nothing(shared: Path, tmp_path: Path):
    quiet = json.loads((made(shared / "incidents" / "none_quiet", tmp_path) / "report.json").read_text())
    assert [entry for entry in quiet["incidents"] if entry["status"] == "confirmed"] == []


@pytest.mark.soak  # test_same_bytes.py asks more of the sample
def test_the_same_inputs_give_the_same_report_to_the_byte(
    shared: Path, seed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1777000000")
    recording = shared / "incidents" / "seed_incident"
    first, second = made(recording, tmp_path / "a"), made(recording, tmp_path / "b")
    for name in ("report.json", "report.md", "report.html"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


@pytest.mark.soak  # test_missing_inputs.py asks the same of the sample
@pytest.mark.parametrize("missing", ["dcgm", "vllm", "nginx", "otel", "events.jsonl"])
def test_without_one_input_nothing_that_needs_it_is_ruled_out(shared: Path, tmp_path: Path, missing: str):
    recording = shared / "incidents" / "seed_incident"
    part = tmp_path / "recording"
    part.mkdir()
    for entry in recording.iterdir():
        if entry.name not in {missing, "truth.json"}:
            (part / entry.name).symlink_to(entry) if entry.is_file() else _linked(entry, part / entry.name)
    report = json.loads((made(part, tmp_path / "out") / "report.json").read_text())
    [incident] = [entry for entry in report["incidents"] if entry["status"] == "confirmed"]
    needs = {
        "dcgm": {"gpu_throttle", "gpu_fault", "memory_bandwidth_saturation"},
        "vllm": {"kv_preemption_thrash", "prefix_cache_disabled", "cache_pollution"},
        "nginx": set(),
        "otel": {"output_length_surge", "upstream_network", "cpu_or_tokenizer_bottleneck", "mix_shift"},
        "events.jsonl": set(),
    }[missing]
    assert {kind: verdicts(incident).get(kind) for kind in needs} == dict.fromkeys(needs, "not_testable")
    if missing != "otel":
        assert incident["causes"][0]["kind"] == "long_context_surge"


def _linked(folder: Path, into: Path) -> None:
    into.mkdir()
    for file in folder.iterdir():
        (into / file.name).symlink_to(file)

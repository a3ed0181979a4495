"""A recording with one input less: what needs it cannot be tested, nobody is cleared for its absence."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tracemortem import cli

pytestmark = pytest.mark.slow
Report = Mapping[str, Any]

PARTS = {
    "gpus": ("dcgm",),
    "engines": ("vllm", "diagnostics"),
    "access log": ("nginx",),
    "spans": ("otel",),
    "events": ("events.jsonl",),
    "all but the access log": ("dcgm", "vllm", "diagnostics", "otel", "host", "events.jsonl"),
}
OF_GPUS = {"gpu_throttle", "gpu_fault", "memory_bandwidth_saturation"}
OF_ENGINES = {"kv_preemption_thrash"}
OF_SPANS = {
    "long_context_surge", "output_length_surge", "traffic_surge", "mix_shift", "upstream_network",
    "cpu_or_tokenizer_bottleneck", "clock_skew_artifact",
}  # fmt: skip
NEED = {
    "gpus": OF_GPUS,
    "engines": OF_ENGINES,
    "access log": set[str](),
    "spans": OF_SPANS,
    "events": set[str](),
    "all but the access log": OF_GPUS | OF_ENGINES | OF_SPANS,
}
RECORDINGS = (
    "confounded_long_vs_throttle", "gpu_throttle", "none_quiet", "output_length_surge",
    "prefix_cache_disabled", "retry_storm", "seed_incident", "simpson_mix", "upstream_network",
)  # fmt: skip


def without(recording: Path, parts: tuple[str, ...], into: Path) -> Path:
    """The recording without those parts, and without its label."""
    into.mkdir(parents=True)
    for entry in recording.iterdir():
        if entry.name not in {*parts, "truth.json"}:
            (into / entry.name).symlink_to(entry)
    return into


def half_of_the_traces(recording: Path, into: Path) -> Path:
    """The recording with every other trace, as a sampler at the head would keep them."""
    without(recording, ("otel",), into)
    (into / "otel").mkdir()
    for file in (recording / "otel").iterdir():
        with gzip.open(file, "rt") as whole, gzip.open(into / "otel" / file.name, "wt", 1) as half:
            for line in whole:
                document = json.loads(line)
                for resource in document["resourceSpans"]:
                    for scope in resource["scopeSpans"]:
                        scope["spans"] = [s for s in scope["spans"] if int(s["traceId"][-8:], 16) % 7 % 2]
                half.write(json.dumps(document) + "\n")
    return into


def made(recording: Path, out: Path) -> Report:
    # links in a folder are not followed, as they could lead anywhere: what they name is given instead
    inputs = [str(entry.resolve()) for entry in sorted(recording.iterdir())]
    assert cli.main(["postmortem", *inputs, "--out", str(out), "--quiet"]) == cli.DONE
    report: Report = json.loads((out / "report.json").read_text())
    return report


def confirmed(report: Report) -> list[Report]:
    return [incident for incident in report["incidents"] if incident["status"] == "confirmed"]


def verdicts(incident: Report) -> dict[str, str]:
    return {entry["kind"]: entry["verdict"] for entry in (*incident["causes"], *incident["not_causes"])}


def ruled_out(incidents: list[Report]) -> set[str]:
    judged = [judgement for incident in incidents for judgement in verdicts(incident).items()]
    return {kind for kind, verdict in judged if verdict == "ruled_out"}


@pytest.fixture(scope="module")
def sample(repo_root: Path) -> Path:
    return repo_root / "data_samples" / "seed_night"


@pytest.fixture(scope="module")
def whole(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    return made(sample, tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize(
    "missing",
    [
        "gpus",
        "engines",
        "spans",
        pytest.param("access log", marks=pytest.mark.soak),
        pytest.param("events", marks=pytest.mark.soak),
    ],
)
def test_what_needs_an_input_cannot_be_tested_without_it(
    sample: Path, whole: Report, tmp_path: Path, missing: str
):
    report = made(without(sample, PARTS[missing], tmp_path / "in"), tmp_path / "out")
    [incident] = confirmed(report)
    found = verdicts(incident)
    assert {kind: found[kind] for kind in NEED[missing]} == dict.fromkeys(NEED[missing], "not_testable")
    assert ruled_out([incident]) <= ruled_out(confirmed(whole))


def test_an_access_log_alone_tells_when_and_whose_requests_and_how_many(
    sample: Path, whole: Report, tmp_path: Path
):
    report = made(without(sample, PARTS["all but the access log"], tmp_path / "in"), tmp_path / "out")
    [full], [incident] = confirmed(whole), confirmed(report)
    assert (incident["start"], incident["end"]) == (full["start"], full["end"])
    assert {source["role"] for source in incident["sources"]} == {"victim"}
    assert [cause["kind"] for cause in incident["causes"]] == ["unknown"]
    measured = {fact["id"]: (fact["value"], fact["baseline"]) for fact in incident["causes"][0]["evidence"]}
    assert measured["traffic.requests_per_s"] == pytest.approx((4.27, 3.43), abs=0.01)
    assert measured["traffic.clients"] == (239, 290)
    # the log names the upstream of each request, so that all replicas are seen to answer
    assert ruled_out([incident]) == {"replica_loss"}


def test_half_of_the_traces_make_one_incident_and_clear_nobody_by_what_they_alone_show(
    sample: Path, whole: Report, tmp_path: Path
):
    report = made(half_of_the_traces(sample, tmp_path / "in"), tmp_path / "out")
    [incident] = confirmed(report)
    assert incident["service"] == confirmed(whole)[0]["service"]
    assert ruled_out([incident]) & OF_SPANS == set()
    assert incident["causes"][0]["kind"] == "long_context_surge"


@pytest.mark.soak
@pytest.mark.parametrize("name", RECORDINGS)
def test_no_recording_with_an_input_less_clears_anybody_else(shared: Path, tmp_path: Path, name: str):
    recording = shared / "incidents" / name
    full = confirmed(made(without(recording, (), tmp_path / "whole"), tmp_path / "of whole"))
    cleared = {}
    for missing, parts in PARTS.items():
        found = confirmed(made(without(recording, parts, tmp_path / missing), tmp_path / f"of {missing}"))
        cleared[missing] = (ruled_out(found) - ruled_out(full)) | (ruled_out(found) & NEED[missing])
    half = confirmed(made(half_of_the_traces(recording, tmp_path / "half"), tmp_path / "of half"))
    cleared["half of the traces"] = (ruled_out(half) - ruled_out(full)) | (ruled_out(half) & OF_SPANS)
    assert not any(cleared.values()), cleared

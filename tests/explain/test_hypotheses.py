"""Every suspicion proves itself by its own samples, and covers the words for causes."""

import re
from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tracemortem import folders
from tracemortem.errors import DefinitionError
from tracemortem.explain.hypothesis import Hypothesis, places, read, read_all
from tracemortem.explain.signals import Signal
from tracemortem.explain.weigh import judge, told
from tracemortem.settings import Settings
from tracemortem.steps import opened
from tracemortem.steps.explain import SIGNAL_TABLES, meanings, suspicions

VALUES = opened.values(Settings(inputs=()))
HYPOTHESES = read_all(folders.definitions("explain", "hypotheses"), VALUES)
KINDS = {
    "long_context_surge", "cache_pollution", "prefix_cache_disabled", "rollout_cold_cache", "traffic_surge",
    "retry_storm", "output_length_surge", "kv_preemption_thrash", "memory_bandwidth_saturation",
    "gpu_throttle", "gpu_fault", "replica_loss", "straggler_replica", "cpu_or_tokenizer_bottleneck",
    "upstream_network", "clock_skew_artifact", "mix_shift",
}  # fmt: skip


UNITS = {
    f"{table}.{column}": unit
    for table in SIGNAL_TABLES
    for column, (unit, _) in meanings(table, VALUES).items()
}


def measured(given: Mapping[str, Any], covered: float | None = 1.0) -> dict[str, Signal]:
    return {
        name: Signal(name, value, before, UNITS[name], name, covered)
        for name, (value, before) in given.items()
    }


def test_every_kind_of_cause_but_unknown_has_a_hypothesis():
    assert {hypothesis.kind for hypothesis in HYPOTHESES} == KINDS


@pytest.mark.parametrize("hypothesis", HYPOTHESES, ids=lambda h: h.kind)
def test_a_hypothesis_has_samples_of_support_refutation_and_missing_data(hypothesis: Hypothesis):
    verdicts = {sample["verdict"] for sample in hypothesis.samples}
    assert "not_testable" in verdicts
    assert "ruled_out" in verdicts
    assert verdicts & {"established", "likely", "possible"}


@pytest.mark.parametrize(
    ("hypothesis", "sample"),
    [(hypothesis, sample) for hypothesis in HYPOTHESES for sample in hypothesis.samples],
    ids=lambda value: value.kind if isinstance(value, Hypothesis) else value["verdict"],
)
def test_a_sample_earns_its_verdict(hypothesis: Hypothesis, sample: Mapping[str, Any]):
    assert judge(hypothesis, measured(sample["given"])).verdict == sample["verdict"]


@pytest.mark.parametrize("hypothesis", HYPOTHESES, ids=lambda h: h.kind)
def test_nothing_is_ruled_out_by_a_signal_that_covers_too_little_of_the_window(hypothesis: Hypothesis):
    for sample in hypothesis.samples:
        if sample["verdict"] == "ruled_out":
            assert judge(hypothesis, measured(sample["given"], covered=0.9)).verdict == "not_supported"


@pytest.mark.parametrize("hypothesis", HYPOTHESES, ids=lambda h: h.kind)
def test_nothing_is_ruled_out_without_any_signal(hypothesis: Hypothesis):
    assert judge(hypothesis, {}).verdict == "not_testable"


def test_no_suspicion_is_a_consequence_of_itself():
    order = TopologicalSorter({hypothesis.kind: hypothesis.consequence_of for hypothesis in HYPOTHESES})
    order.prepare()  # raises on a ring, in which every cause would contribute and none be primary
    assert order.is_active()


def test_every_suspicion_cites_only_what_is_measured():
    assert suspicions({table: meanings(table, VALUES) for table in SIGNAL_TABLES}, VALUES) == HYPOTHESES


def test_a_suspicion_that_cites_what_nobody_measures_is_an_error():
    notes = {table: meanings(table, VALUES) for table in SIGNAL_TABLES}
    del notes["gpu_fault"]
    with pytest.raises(
        DefinitionError, match=r"'gpu_fault' cites gpu_fault.xid_changes, which nobody measures"
    ):
        suspicions(notes, VALUES)


def test_every_evidence_table_says_what_would_have_recorded_it():
    recorders = yaml.safe_load(folders.definitions("explain", "recorders.yaml").read_text())
    assert set(recorders) == set(SIGNAL_TABLES)


@pytest.mark.parametrize("hypothesis", HYPOTHESES, ids=lambda h: h.kind)
def test_a_claim_reads_without_a_gap_where_all_that_it_needs_was_recorded(hypothesis: Hypothesis):
    needed = {
        *hypothesis.needs,
        *(condition.signal for condition in hypothesis.supported_when),
        "replicas.replicas",  # counted wherever any replica is known
    }
    known = {name: Signal(name, 0.5, 0.25, UNITS[name], name, 1.0) for name in needed}
    text = told(hypothesis.claim, known)
    assert not re.search(r"not recorded|[][{}]| [.,;]|  ", text), text
    assert text[0].isupper() or text[0].isdigit()
    assert text.endswith(".")


def test_a_misspelt_key_is_named(tmp_path: Path):
    source = (folders.definitions("explain", "hypotheses") / "gpu_fault.yaml").read_text()
    broken = tmp_path / "gpu_fault.yaml"
    broken.write_text(source.replace("refuted_when:", "refuted_wen:"))
    with pytest.raises(DefinitionError, match="a key nobody reads: 'refuted_wen'"):
        read(broken, VALUES)


def test_a_condition_that_cannot_be_judged_is_named(tmp_path: Path):
    source = (folders.definitions("explain", "hypotheses") / "gpu_fault.yaml").read_text()
    broken = tmp_path / "gpu_fault.yaml"
    broken.write_text(source.replace("at_least", "atleast"))
    with pytest.raises(DefinitionError, match="no condition of 'gpu_fault' reads"):
        read(broken, VALUES)


def test_a_limit_may_be_the_name_of_a_threshold():
    folder = folders.definitions("explain", "hypotheses")
    strict = read(folder / "long_context_surge.yaml", {**VALUES, "false_discovery_rate": 0.01})
    assert {one.limit for one in strict.corroborated_when if one.signal.startswith("dose.")} == {0.01}


def test_a_limit_that_names_no_threshold_is_named():
    with pytest.raises(DefinitionError, match="minutes_chance: value: at_most: false_discovery_rate"):
        read(folders.definitions("explain", "hypotheses") / "long_context_surge.yaml", {})


def test_a_suspicion_is_found_by_the_name_of_its_file():
    files = folders.definitions("explain", "hypotheses").glob("*.yaml")
    assert {path.stem for path in files} == {hypothesis.kind for hypothesis in HYPOTHESES}


def test_a_consequence_of_nothing_declared_is_named(tmp_path: Path):
    source = (folders.definitions("explain", "hypotheses") / "gpu_fault.yaml").read_text()
    (tmp_path / "gpu_fault.yaml").write_text(source + "consequence_of: [cosmic_rays]\n")
    with pytest.raises(DefinitionError, match="'cosmic_rays', which nobody declares"):
        read_all(tmp_path, VALUES)


def test_a_place_that_nobody_declares_is_named(tmp_path: Path):
    source = (folders.definitions("explain", "hypotheses") / "gpu_fault.yaml").read_text()
    (tmp_path / "gpu_fault.yaml").write_text(source + "place: the_moon\n")
    with pytest.raises(DefinitionError, match="lies in 'the_moon', which nobody declares"):
        read_all(tmp_path, VALUES)


def test_all_that_slows_requests_inside_the_engines_says_so():
    inside = {hypothesis.kind for hypothesis in HYPOTHESES if hypothesis.place == places()["engine"]}
    outside = {
        "upstream_network", "cpu_or_tokenizer_bottleneck", "clock_skew_artifact", "mix_shift", "retry_storm",
        "replica_loss", "gpu_fault",
    }  # fmt: skip
    assert inside == KINDS - outside

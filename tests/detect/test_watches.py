"""The definition of the watches: complete, used, and refused with a reason where it is faulty."""

import re

import pytest
import yaml

from tracemortem.detect.watches import DEFINITION, watches
from tracemortem.errors import DefinitionError, SettingError


@pytest.fixture
def changed(tmp_path):
    """A copy of watches.yaml after a change."""

    def write(change):
        text = yaml.safe_load(DEFINITION.read_text(encoding="utf-8"))
        change(text)
        file = tmp_path / "watches.yaml"
        file.write_text(yaml.safe_dump(text), encoding="utf-8")
        return file

    return write


def test_the_watch_that_ships_scans_three_quantiles_of_the_latency(watch):
    assert (watch.name, watch.column, watch.quantiles) == ("request_latency", "latency_s", (0.9, 0.95, 0.99))


def test_the_watches_are_of_latency_first_token_decoding_and_queue():
    assert {name: watch.column for name, watch in watches().items()} == {
        "request_latency": "latency_s",
        "ttft": "ttft_s",
        "tpot": "tpot_s",
        "queue": "queue_s",
    }


def test_every_number_says_its_unit_its_reason_and_its_source(watch):
    assert [n.name for n in watch.numbers.values() if not (n.unit and n.why and n.source)] == []


def test_every_number_is_used_by_the_code(watch, repo_root):
    code = "".join(
        file.read_text(encoding="utf-8")
        for file in sorted((repo_root / "pipelines/tracemortem/detect").glob("*.py"))
        if file.name != "watches.py"
    )
    asked = set(re.findall(r'number\(\s*"(\w+)"', code)) | set(re.findall(r'"(slow_odds_\w+)"', code))
    odds = {name for name in watch.numbers if name.startswith("slow_odds_")}
    assert set(watch.numbers) - odds == asked - odds


def test_an_override_says_that_the_user_set_it():
    number = watches(overrides={"merge_minutes": 5})["request_latency"].numbers["merge_minutes"]
    assert (number.value, number.unit, number.source) == (5, "min", "set by the user")


def test_an_override_of_a_number_that_is_not_there_is_refused():
    with pytest.raises(SettingError, match="no number of detection is called 'merge_minute'"):
        watches(overrides={"merge_minute": 5})


def test_a_number_without_a_reason_is_refused(changed):
    file = changed(lambda text: text["numbers"]["evidence"].pop("why"))
    with pytest.raises(DefinitionError, match="number 'evidence' is not a value with unit, why and source"):
        watches(file)


def test_a_number_that_nobody_reads_is_refused(changed):
    file = changed(lambda text: text["numbers"].update(evidenze=text["numbers"]["evidence"]))
    with pytest.raises(
        DefinitionError, match=r"watches\.yaml has numbers nobody reads, or lacks some: evidenze"
    ):
        watches(file)


def test_a_number_that_lacks_is_named(changed):
    file = changed(lambda text: text["numbers"].pop("merge_minutes"))
    with pytest.raises(
        DefinitionError, match=r"watches\.yaml has numbers nobody reads, or lacks some: merge_minutes"
    ):
        watches(file)


@pytest.mark.parametrize("quantiles", [[], [0.99, 0.9], [0.9, 0.9], [0.3], [1.0]])
def test_quantiles_that_do_not_ascend_below_one_are_refused(changed, quantiles):
    file = changed(lambda text: text["watches"]["request_latency"].update(quantiles=quantiles))
    with pytest.raises(DefinitionError, match="watch 'request_latency' has quantiles"):
        watches(file)


def test_a_watch_without_a_column_is_refused(changed):
    file = changed(lambda text: text["watches"]["request_latency"].pop("column"))
    with pytest.raises(DefinitionError, match="watch 'request_latency' is not about, column, floor_s, "):
        watches(file)


@pytest.mark.parametrize("floor", [0.01, {"value": 0, "why": "none"}, {"value": 0.01}, None])
def test_a_floor_that_is_not_above_zero_with_a_reason_is_refused(changed, floor):
    file = changed(lambda text: text["watches"]["ttft"].update(floor_s=floor))
    with pytest.raises(DefinitionError, match="watch 'ttft' has no seconds above 0 with a reason"):
        watches(file)

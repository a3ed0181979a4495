"""Every column of every record is declared with a type, a unit and a meaning."""

from pathlib import Path

import pytest

from tracemortem import folders
from tracemortem.errors import DefinitionError
from tracemortem.sources import records

TEXT_RECORDS = ("gpu_sample", "engine_sample", "host_sample", "metric", "access", "event")


@pytest.mark.parametrize("name", TEXT_RECORDS)
def test_a_record_says_what_each_column_means(name: str):
    for column in records.record(name).values():
        assert column.about
        assert column.unit


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: {type: double, unit: s}", "column 'a' lacks 'about'"),
        ("a: {type: number, unit: s, about: x}", "column 'a' has the unknown type 'number'"),
        ("a: {type: double, unit: s, about: x, form: [b]}", "column 'a' has a key nobody reads, 'form'"),
        ("a: 1", "column 'a' is no mapping"),
    ],
)
def test_a_column_declared_wrongly_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, what: str
):
    (tmp_path / "mine.yaml").write_text(text)
    monkeypatch.setattr(folders, "definitions", lambda *_: tmp_path)
    with pytest.raises(DefinitionError) as caught:
        records.record("mine")
    assert caught.value.what == what


def test_an_alias_may_have_a_factor_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "own.yaml").write_text(
        "a: {type: double, unit: s, about: x, times: 0.001, from: [b, {name: c, times: 1}]}"
    )
    monkeypatch.setattr(folders, "definitions", lambda *_: tmp_path)
    assert records.record("own")["a"].aliases == (("b", 0.001), ("c", 1.0))

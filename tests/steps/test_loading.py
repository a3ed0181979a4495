"""Which files are read, which are only listed, and which are refused."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from tracemortem.errors import InputError, SettingError
from tracemortem.settings import Settings
from tracemortem.steps import opened
from tracemortem.steps.load import load

EVENT = json.dumps({"time": "2026-04-24T02:51:00Z", "kind": "mitigation", "text": "rolled back"}) + "\n"
UNREADABLE = json.dumps({"time": "yesterday", "kind": "mitigation", "text": "rolled back"}) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    (made / "events.jsonl").write_text(EVENT)
    return made


@pytest.fixture
def settings(tmp_path: Path, folder: Path) -> Settings:
    return Settings(inputs=(str(folder),), db=str(tmp_path / "x.duckdb"))


def inputs(settings: Settings) -> pl.DataFrame:
    with opened.store(settings) as store:
        return store.frame("select path, kind, format, rows, rejects from meta.input order by path")


def skipped(settings: Settings) -> Mapping[str, str]:
    """Path -> why, of the files that were skipped."""
    found = inputs(settings).filter(kind="skipped")
    return dict(zip(found["path"], found["format"], strict=True))


def test_the_share_of_rejects_is_that_of_all_records(folder: Path, settings: Settings):
    (folder / "more.jsonl").write_text(EVENT * 2 + UNREADABLE)
    assert load(settings) == 0.25


def test_the_share_of_rejects_is_the_same_when_nothing_is_loaded_anew(folder: Path, settings: Settings):
    (folder / "more.jsonl").write_text(EVENT * 2 + UNREADABLE)
    assert load(settings) == load(settings)
    assert inputs(settings).height == 2


def test_a_second_copy_is_listed_as_what_it_is(folder: Path, settings: Settings):
    (folder / "later.jsonl").write_text(EVENT)
    load(settings)
    assert skipped(settings) == {"later.jsonl": "it holds the same as events.jsonl"}


def test_a_file_found_under_two_inputs_is_read_once(folder: Path, settings: Settings):
    twice = Settings(inputs=(*settings.inputs, str(folder / "events.jsonl")), db=settings.db)
    load(twice)
    assert inputs(twice).rows() == [("events.jsonl", "events", "events_json_lines", 1, 0)]


def test_what_is_no_plain_file_is_listed_and_not_opened(folder: Path, settings: Settings):
    (folder / "dangling.log").symlink_to(folder / "nowhere")
    (folder / "folder").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    load(settings)
    assert skipped(settings) == {
        "dangling.log": "it is no file that can be read",
        "folder": "a link to a folder is not followed",
        "pipe": "it is no file that can be read",
    }


def test_what_cannot_be_opened_has_no_digest(folder: Path, settings: Settings):
    (folder / "dangling.log").symlink_to(folder / "nowhere")
    load(settings)
    with opened.store(settings) as store:
        assert store.scalar("select sha256 from meta.input where path = 'dangling.log'") is None


def test_a_file_that_is_skipped_is_listed_once_however_often_it_is_offered(folder: Path, settings: Settings):
    (folder / "README").write_text("nothing to see\n")
    (folder / "dangling.log").symlink_to(folder / "nowhere")
    for _ in range(3):
        load(settings)
    assert sorted(skipped(settings)) == ["README", "dangling.log"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            UNREADABLE * 2,
            "all of its 2 records were rejected, the first (line 1): time is not RFC 3339: yesterday",
        ),
        ('{"resourceSpans":[]}\n', "it holds no record"),
    ],
)
def test_a_file_given_by_name_that_gives_no_row_is_refused(folder: Path, settings: Settings, content, why):
    path = folder / "odd.jsonl"
    path.write_text(content)
    named = Settings(inputs=(str(path),), db=settings.db)
    for _ in range(2):  # what was refused is not remembered as loaded
        with pytest.raises(InputError) as caught:
            load(named)
        assert caught.value.what == "odd.jsonl gives no row"
        assert caught.value.why.endswith(why)
    assert inputs(named).is_empty()


def test_a_file_of_a_folder_that_gives_no_row_is_kept_and_counted(folder: Path, settings: Settings):
    (folder / "odd.jsonl").write_text(UNREADABLE)
    assert load(settings) == 0.5
    assert inputs(settings).filter(path="odd.jsonl").rows() == [
        ("odd.jsonl", "events", "events_json_lines", 0, 1)
    ]


def test_a_file_that_gave_no_row_is_refused_once_it_is_given_by_name(folder: Path, settings: Settings):
    (folder / "odd.jsonl").write_text(UNREADABLE)
    load(settings)
    with pytest.raises(InputError):
        load(Settings(inputs=(str(folder / "odd.jsonl"),), db=settings.db))


def test_a_file_that_is_gone_when_its_turn_comes_is_said(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    def gone(path: Path) -> str:
        raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr("tracemortem.steps.recall.packed_sha256", gone)
    with pytest.raises(InputError, match=r"events\.jsonl cannot be read"):
        load(settings)


def test_a_time_stamp_of_the_environment_that_is_none_is_said(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "now")
    with pytest.raises(SettingError, match="'now' is no time"):
        load(settings)

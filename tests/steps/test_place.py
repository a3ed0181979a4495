"""Two runs never work on one DuckDB file at once, and a place that cannot be written to is said at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracemortem.errors import SettingError, WarehouseError
from tracemortem.settings import Settings
from tracemortem.steps.place import taken


def settings(folder: Path) -> Settings:
    return Settings(inputs=("x",), out=str(folder))


def test_a_place_that_is_taken_is_refused_with_the_number_of_who_has_it(tmp_path: Path):
    with taken(settings(tmp_path)):
        with pytest.raises(WarehouseError) as caught, taken(settings(tmp_path)):
            pass
        assert caught.value.what == "tracemortem.duckdb is in use"
        assert caught.value.why == f"another run (process {os.getpid()}) is at work on it"


def test_a_place_is_taken_whatever_path_leads_to_it(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path)
    with (
        taken(settings(tmp_path)),
        pytest.raises(WarehouseError),
        taken(Settings(inputs=("x",), db=str(tmp_path / "link" / "tracemortem.duckdb"))),
    ):
        pass


def test_two_files_in_one_folder_are_two_places(tmp_path: Path):
    first, second = (Settings(inputs=("x",), db=str(tmp_path / name)) for name in ("a.duckdb", "b.duckdb"))
    with taken(first), taken(second):
        names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["a.duckdb.lock", "b.duckdb.lock"]


def test_a_place_is_free_again_after_the_run_and_nothing_is_left_in_it(tmp_path: Path):
    for _ in range(2):
        with taken(settings(tmp_path / "out")):
            pass
    assert list((tmp_path / "out").iterdir()) == []


def test_a_place_is_free_again_after_a_run_that_failed(tmp_path: Path):
    with pytest.raises(ZeroDivisionError), taken(settings(tmp_path)):
        raise ZeroDivisionError
    with taken(settings(tmp_path)):
        pass


def test_what_a_run_that_was_killed_left_behind_is_in_nobodys_way(tmp_path: Path, repo_root: Path):
    code = (
        "import os, signal\n"
        "from tracemortem.settings import Settings\n"
        "from tracemortem.steps.place import taken\n"
        f"with taken(Settings(inputs=('x',), out={str(tmp_path)!r})): os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "PYTHONPATH": str(repo_root / "pipelines")}
    subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert [path.name for path in tmp_path.iterdir()] == ["tracemortem.duckdb.lock"]
    with taken(settings(tmp_path)):
        pass


@pytest.mark.parametrize("option", ["--out", "--db"])
def test_a_file_in_place_of_the_folder_is_said(tmp_path: Path, option: str):
    (tmp_path / "file").touch()
    asked = {
        "--out": Settings(inputs=("x",), out=str(tmp_path / "file")),
        "--db": Settings(inputs=("x",), db=str(tmp_path / "file" / "x.duckdb")),
    }[option]
    with pytest.raises(SettingError) as caught, taken(asked):
        pass
    assert caught.value.what == f"nothing can be written into {tmp_path / 'file'}"
    assert caught.value.where == option


def test_a_folder_that_may_not_be_written_to_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(SettingError) as caught, taken(settings(tmp_path)):
        pass
    assert caught.value.why == "it may not be written to"

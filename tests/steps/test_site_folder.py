"""The folder of a site: it is taken only if it is ours or empty, and only what the site wrote is removed."""

import json
from pathlib import Path

import pytest

from tracemortem.errors import SettingError
from tracemortem.settings import Settings
from tracemortem.steps.site_folder import replaced, taken


def names(out: Path) -> list[str]:
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())


@pytest.fixture
def out(tmp_path):
    """A folder with a site of two incidents."""
    folder = taken(Settings((), db="x.duckdb", out=str(tmp_path / "site")))
    replaced(folder, b"first", ["a-1.html", "b-2.html"], [b"a", b"b"])
    return folder


def again(out: Path) -> Path:
    return taken(Settings((), db="x.duckdb", out=str(out)))


def test_a_new_folder_gets_the_site(out):
    assert names(out) == ["incidents/a-1.html", "incidents/b-2.html", "index.html", "site.json"]
    assert (out / "index.html").read_bytes() == b"first"


def test_the_page_of_an_incident_that_is_gone_is_removed_and_what_others_put_there_stays(out):
    (out / "incidents" / "mine.html").write_bytes(b"mine")
    (out / "CNAME").write_bytes(b"site.example")
    replaced(again(out), b"second", ["b-2.html"], [b"b again"])
    assert names(out) == ["CNAME", "incidents/b-2.html", "incidents/mine.html", "index.html", "site.json"]
    assert (out / "index.html").read_bytes() == b"second"
    assert (out / "incidents" / "b-2.html").read_bytes() == b"b again"


@pytest.mark.parametrize(
    "name", ["../mine.html", "../../mine.html", "/etc/mine.html", "mine.html/../x.html", 7]
)
def test_a_list_that_was_tampered_with_removes_nothing_elsewhere(out, name):
    kept = [out / "mine.html", out.parent / "mine.html"]
    for path in kept:
        path.write_bytes(b"mine")
    (out / "site.json").write_text(json.dumps({"schema": "tracemortem.site/1", "pages": [name]}))
    replaced(again(out), b"second", [], [])
    assert [path.exists() for path in kept] == [True, True]


@pytest.mark.parametrize("listed", [None, "{", "[]", '{"schema": "other/1", "pages": []}'])
def test_a_folder_that_holds_something_else_is_refused(tmp_path, listed):
    (tmp_path / "thesis.tex").write_text("never printed")
    if listed is not None:
        (tmp_path / "site.json").write_text(listed)
    with pytest.raises(SettingError, match="holds something else"):
        again(tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "never printed"


def test_a_run_that_was_killed_between_two_pages_is_mended_by_the_next(out, monkeypatch):
    def killed(self: Path, target: Path) -> Path:
        if target.name == "d-4.html":
            raise KeyboardInterrupt
        return rename(self, target)

    rename = Path.replace
    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        replaced(again(out), b"second", ["c-3.html", "d-4.html"], [b"c", b"d"])
    assert (out / "index.html").read_bytes() == b"first"  # still whole, and its pages are there
    monkeypatch.undo()
    (out / "incidents" / ".e-5.html.999999999.tmp").write_bytes(b"half")
    replaced(again(out), b"third", ["a-1.html"], [b"a"])
    assert names(out) == ["incidents/a-1.html", "index.html", "site.json"]


def test_a_folder_that_cannot_be_written_to_is_said(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SettingError, match="nothing can be written into"):
        again(tmp_path / "file")

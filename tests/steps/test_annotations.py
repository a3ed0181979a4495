"""The file of annotations: what it may say, what it must not, and that later runs remember it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tracemortem.errors import DefinitionError, SettingError
from tracemortem.incident import Annotation
from tracemortem.settings import Settings
from tracemortem.steps.annotations import annotate, kept, read
from tracemortem.steps.opened import store

BY_ID = "{incident: 20260302T0100Z-chat, verdict: dismissed, by: Jo, note: load test}"
BY_WINDOW = "{service: chat, window: 2026-03-02T02:00/2026-03-02T02:30, cause: gpu_fault, note: seen}"


def written(folder: Path, *entries: str) -> Path:
    path = folder / "annotations.yaml"
    path.write_text("annotations:\n" + "".join(f"  - {entry}\n" for entry in entries))
    return path


def test_an_incident_is_named_by_its_id_or_by_service_and_window(tmp_path: Path):
    assert read(written(tmp_path, BY_ID, BY_WINDOW), "Europe/Berlin") == (
        Annotation(
            "20260302T0100Z-chat", "chat", datetime(2026, 3, 2, 1, tzinfo=UTC), None, "dismissed", None, "Jo",
            "load test",
        ),
        Annotation(
            "chat 2026-03-02T01:00Z/2026-03-02T01:30Z", "chat", datetime(2026, 3, 2, 1, tzinfo=UTC),
            datetime(2026, 3, 2, 1, 30, tzinfo=UTC), None, "gpu_fault", None, "seen",
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "what", "why"),
    [
        ("dismissed", "it is str", "an annotation is a mapping"),
        (
            "{incident: 20260302T0100Z-chat, verdikt: dismissed, note: x}",
            "nobody reads 'verdikt'",
            "known are",
        ),
        ("{incident: 20260302T0100Z-chat, verdict: wrong, note: x}", "no verdict is called 'wrong'", "known"),
        (
            "{incident: 20260302T0100Z-chat, cause: gremlins, note: x}",
            "no cause is called 'gremlins'",
            "lists",
        ),
        ("{incident: 20260302T0100Z-chat, note: x}", "it says nothing", "neither a verdict nor a cause"),
        ("{incident: 20260302T0100Z-chat, verdict: dismissed}", "'note' is missing", "needs its reason"),
        ("{incident: 20260302T0100Z-chat, verdict: dismissed, note: 7}", "'note' is 7", "must be a text"),
        ("{incident: 20261302T0100Z-chat, verdict: dismissed, note: x}", "no incident has the id", "a start"),
        ("{incident: chat, verdict: dismissed, note: x}", "no incident has the id 'chat'", "a start"),
        ("{verdict: dismissed, note: x}", "it does not say of which incident it speaks", "by its id, or by"),
        ("{service: chat, verdict: dismissed, note: x}", "it does not say of which", "by its id, or by"),
        (
            "{service: chat, window: 2026-03-02T02:30Z/2026-03-02T02:00Z, verdict: confirmed, note: x}",
            "the window is empty",
            "ends before it begins",
        ),
        (
            "{incident: 20260302T0100Z-chat, verdict: dismissed, cause: gpu_fault, note: x}",
            "it names a cause of what it dismisses",
            "what is no incident has none",
        ),
        (BY_ID, "20260302T0100Z-chat was annotated before", "what holds is not told"),
    ],
)
def test_an_annotation_that_is_wrong_is_named_with_reason_and_remedy(
    tmp_path: Path, entry: str, what: str, why: str
):
    path = written(tmp_path, BY_ID, entry)
    with pytest.raises(DefinitionError) as caught:
        read(path, "UTC")
    assert caught.value.what.startswith(f"annotation 2 is wrong: {what}")
    assert why in caught.value.why
    assert (caught.value.where, caught.value.fix[:21]) == (str(path), "write for example  {i")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("annotations: 7\n", "annotations is int"),
        ("notes: []\n", "annotations.yaml has a key nobody reads: 'notes'"),
        ("- a\n", "annotations.yaml holds no definition"),
        ("a: [\n", "annotations.yaml is not YAML"),
    ],
)
def test_a_file_that_holds_no_annotations_is_refused(tmp_path: Path, text: str, what: str):
    (tmp_path / "annotations.yaml").write_text(text)
    with pytest.raises(DefinitionError) as caught:
        read(tmp_path / "annotations.yaml", "UTC")
    assert caught.value.what == what


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_the_users_to_mend(tmp_path: Path, content: bytes | None):
    path = tmp_path / "annotations.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingError) as caught:
        read(path, "UTC")
    assert (caught.value.what, caught.value.where) == (f"{path} cannot be read", "--annotations")


def test_what_was_said_holds_in_later_runs_until_something_else_is_said(tmp_path: Path):
    told = Settings(inputs=(), db=str(tmp_path / "x.duckdb"), annotations=str(written(tmp_path, BY_ID)))
    untold = Settings(inputs=(), db=told.db)
    assert (annotate(told), annotate(untold)) == (1, 1)
    with store(untold) as opened:
        assert kept(opened) == read(Path(told.annotations or ""), "UTC")
    written(tmp_path)
    assert (annotate(told), annotate(untold)) == (0, 0)

"""What a .sql file says about itself, and what it is told when it does not."""

from pathlib import Path

import pytest

from tracemortem.errors import DefinitionError
from tracemortem.warehouse import header


def a_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mart" / "latency_minute.sql"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


GOOD = """\
-- One row per minute
-- with a request.
--
-- A quantile is exact (Hyndman and Fan 1996, type 7).
--
-- minute       UTC        start of the minute
-- model        -          model asked for
-- hit_ratio    ratio 0-1  hits over look-ups, where
--                         the engine counts them

-- why the body is as it is
select 1 as minute, 2 as model, 3 as hit_ratio;
"""


def test_a_header_is_grain_notes_and_columns(tmp_path: Path):
    found = header.read_table(a_file(tmp_path, GOOD))
    assert found.name == "mart.latency_minute"
    assert found.about == "One row per minute with a request."
    assert found.notes == ("A quantile is exact (Hyndman and Fan 1996, type 7).",)
    assert found.columns == (
        header.Column("minute", "UTC", "start of the minute"),
        header.Column("model", "-", "model asked for"),
        header.Column("hit_ratio", "ratio 0-1", "hits over look-ups, where the engine counts them"),
    )


def test_the_body_follows_the_header_without_its_semicolon(tmp_path: Path):
    found = header.read(a_file(tmp_path, GOOD))
    assert found.body == "-- why the body is as it is\nselect 1 as minute, 2 as model, 3 as hit_ratio"


def test_a_unit_stands_in_the_comment_of_a_column_that_has_one():
    assert [header.Column("a", "s", "how long").comment, header.Column("b", "-", "who").comment] == [
        "how long [s]",
        "who",
    ]


def test_quotes_in_a_comment_are_kept(tmp_path: Path):
    text = "-- One row per engine's \"minute\".\n--\n-- at  UTC  the minute's start\n\nselect 1 as at"
    assert header.comments(header.read(a_file(tmp_path, text))) == (
        'comment on table "mart"."latency_minute" is \'One row per engine\'\'s "minute".\';\n'
        'comment on column "mart"."latency_minute"."at" is \'the minute\'\'s start [UTC]\''
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("select 1 as a", "the comment at its head lacks a first paragraph", id="no header"),
        pytest.param(
            "-- Minutes.\n--\n-- a  -  a\n\nselect 1 as a", "its header begins 'Minutes.'", id="no grain"
        ),
        pytest.param(
            "-- One row per a.\n--\n-- a  -  one\n-- b s two\n\nselect 1 as a, 2 as b",
            "'-- b s two' is not name, unit and meaning, each two spaces apart",
            id="one space",
        ),
    ],
)
def test_a_header_that_cannot_be_read_is_refused(tmp_path: Path, text: str, why: str):
    path = a_file(tmp_path, text)
    with pytest.raises(DefinitionError) as raised:
        header.read_table(path)
    assert (raised.value.why, raised.value.where.partition(",")[0]) == (why, str(path))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["minute", "model", "hit_ratio", "p99_s"], "column 'p99_s' is not in the header"),
        (["minute", "model"], "the header has 'hit_ratio', the SQL does not"),
        (["model", "minute", "hit_ratio"], "the header has 'minute' where the SQL has 'model'"),
        (["minute", "model", "hit_ratio", "hit_ratio"], "a column stands twice"),
    ],
)
def test_columns_other_than_the_header_says_are_refused(tmp_path: Path, given: list[str], why: str):
    with pytest.raises(DefinitionError) as raised:
        header.compare(header.read(a_file(tmp_path, GOOD)), given)
    assert (raised.value.what, raised.value.why) == ("mart.latency_minute is not what its header says", why)

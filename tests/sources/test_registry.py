"""What the survey found is read by the reader of its kind."""

from pathlib import Path

import pytest

from tracemortem.sources.find import survey
from tracemortem.sources.registry import known, read


@pytest.mark.parametrize(
    ("content", "stored"),
    [
        ('203.0.113.9 - - [03/Feb/2026:12:02:07 +0100] "GET / HTTP/1.1" 200 5 "-" "curl"\n', {"access": 1}),
        ('a{x="1"} 1 1770116527000\n', {"series": 1, "sample": 1}),
        ('{"time": "2026-02-03T11:02:07Z", "kind": "deploy", "text": "v2"}\n', {"event": 1}),
    ],
)
def test_each_kind_gives_the_rows_of_its_tables(tmp_path: Path, content: str, stored: dict[str, int]):
    (tmp_path / "a").write_text(content)
    (found,) = survey([str(tmp_path)])
    (batch,) = read(found)
    assert {table: rows.height for table, rows in batch.rows.items()} == stored


def test_a_configuration_holds_no_records(tmp_path: Path):
    (tmp_path / "a").write_text("log_format x '$msec';")
    (found,) = survey([str(tmp_path)])
    assert list(read(found)) == []


def test_every_format_known_has_a_name_of_its_own_and_a_title():
    names = [one.name for one in known()]
    assert len(names) == len(set(names))
    assert all(one.title for one in known())

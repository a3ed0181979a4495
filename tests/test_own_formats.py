"""--formats: the user's own access-log formats, in every command that reads."""

import re
from pathlib import Path

import pytest

from tracemortem import cli

GOOD = """\
format: mine
title: my gateway
url: https://example.org
line: '^(?P<t>[0-9]+) (?P<s>[0-9]{3})$'
fields: {t: {finished_at: {time: epoch_s}}, s: {status: {}}}
samples: [{line: '1770116527 200', gives: {finished_at: 2026-02-03 11:02:07, status: 200}}]
refuses: [{line: '1770116527 2000', why: a status has three digits}]
"""
NAMED = GOOD.replace("format: mine", "format: %s")
ODD = "mine.yaml is not what a format looks like"


@pytest.fixture
def example(repo_root: Path, tmp_path: Path) -> tuple[Path, str]:
    """The folder with the files of the worked example, and what the page says that inspect prints of them."""
    page = (repo_root / "docs" / "own-formats.md").read_text(encoding="utf-8")
    log, shown = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (definition,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "gate.yaml").write_text(definition)
    (tmp_path / "gate.log").write_text(log)
    return tmp_path, shown


def test_the_worked_example_is_inspected_as_its_page_shows(example, capsys: pytest.CaptureFixture[str]):
    folder, shown = example
    assert cli.main(["inspect", str(folder / "gate.log"), "--formats", str(folder / "formats")]) == cli.DONE
    assert capsys.readouterr().out.startswith(shown)


def test_the_worked_example_is_loaded_into_the_tables(example, capsys: pytest.CaptureFixture[str]):
    folder, _ = example
    database = str(folder / "x.duckdb")
    given = [str(folder / "gate.log"), "--formats", str(folder / "formats"), "--max-rejects", "0.5"]
    assert cli.main(["ingest", *given, "--db", database, "--quiet"]) == cli.DONE
    query = "select status, duration_s, ttft_s, prompt_tokens from norm.request order by started_at"
    assert cli.main(["sql", database, query]) == cli.DONE
    assert capsys.readouterr().out.splitlines() == [
        "status,duration_s,ttft_s,prompt_tokens", "200,4.21,0.38,9120", "499,1.5,,", "200,0.003,0.003,",
    ]  # fmt: skip


def test_without_its_format_the_example_is_refused_with_the_remedy(example, capsys):
    folder, _ = example
    assert cli.main(["inspect", str(folder / "gate.log")]) == cli.USERS_TO_FIX
    assert "--formats DIR" in capsys.readouterr().err


def test_formats_lists_ones_own_with_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "mine.yaml").write_text(GOOD)
    assert cli.main(["formats", "--formats", str(tmp_path)]) == cli.DONE
    with_own = capsys.readouterr().out.splitlines()
    assert cli.main(["formats"]) == cli.DONE
    without = capsys.readouterr().out.splitlines()
    assert [line for line in with_own if line not in without] == [f"{'mine':<24} access_log my gateway"]


def test_ones_own_is_taken_where_another_reads_as_many_lines(tmp_path: Path, capsys):
    combined = '203.0.113.9 - - [03/Feb/2026:12:02:07 +0100] "GET / HTTP/1.1" 200 5 "-" "x"'
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "mine.yaml").write_text(f"""\
format: mine
title: my combined
url: https://example.org
line: '^\\S+ - - \\[(?P<t>[^\\]]+)\\] "[^"]*" (?P<s>[0-9]{{3}}) .*$'
fields: {{t: {{started_at: {{time: "%d/%b/%Y:%H:%M:%S %z"}}}}, s: {{status: {{}}}}}}
samples: [{{line: '{combined}', gives: {{started_at: 2026-02-03 11:02:07, status: 200}}}}]
refuses: [{{line: '{combined[:40]}', why: it is cut off}}]
""")
    (tmp_path / "access.log").write_text(f"{combined}\n")
    given = [str(tmp_path / "access.log"), "--formats", str(tmp_path / "formats")]
    assert cli.main(["inspect", *given]) == cli.DONE
    shown = capsys.readouterr().out.splitlines()
    assert shown[1:3] == [
        "  is      mine (my combined reads 1 of the first 1 lines)",
        "  next    nginx_combined (1), by lines among the first 200",
    ]


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        (NAMED % "nginx_combined", "the name 'nginx_combined' is taken", "apart"),
        (NAMED % "otlp_protobuf", "the name 'otlp_protobuf' is taken", "apart"),
        (NAMED % "../mine", ODD, "format: "),
        (GOOD.replace("status: 200", "status: 201"), "format 'mine' misreads its sample 1", "status is 200"),
        (GOOD.replace(" 2000'", " 200'"), "format 'mine' takes line 1 of those", "three digits"),
        (GOOD.replace("line: '1770116527 200', gives", "lines: '1770116527 200', gives"), ODD, "samples.0"),
        (GOOD.replace("s: {status: {}}", "s: status"), ODD, "fields.s"),
        (GOOD.replace("time: epoch_s", "when: epoch_s"), ODD, "when"),
        (GOOD.replace("{status: {}}", "{status: {extract: '('}}"), "format 'mine' cannot be used", "("),
        (GOOD.replace("line: '^", "json: [t]\nline: '^"), "format 'mine' does not say how", "one of"),
        (GOOD + "colour: red\n", "mine.yaml has a key nobody reads: 'colour'", "known are"),
        ("- a\n", "mine.yaml holds no definition", "list"),
        ("a: [}", "mine.yaml is not YAML", "line 1"),
    ],
)  # fmt: skip
def test_a_faulty_format_stops_the_run_in_four_lines(tmp_path: Path, capsys, text: str, what: str, why: str):
    (tmp_path / "mine.yaml").write_text(text)
    assert cli.main(["inspect", str(tmp_path / "mine.yaml"), "--formats", str(tmp_path)]) == cli.USERS_TO_FIX
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 4
    assert said[0].startswith(f"tracemortem: {what}")
    assert "mine.yaml" in said[1]
    assert why in said[2]


def test_two_of_ones_own_with_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(GOOD)
    assert cli.main(["formats", "--formats", str(tmp_path)]) == cli.USERS_TO_FIX
    assert capsys.readouterr().err.splitlines()[:2] == [
        "tracemortem: the name 'mine' is taken", f"  where  {tmp_path.name}/b.yaml",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "why"), [("", "there is no .yaml file in it"), ("nowhere", "it is no folder")]
)
def test_a_folder_without_formats_is_said(tmp_path: Path, capsys, name: str, why: str):
    assert cli.main(["formats", "--formats", str(tmp_path / name)]) == cli.USERS_TO_FIX
    assert capsys.readouterr().err.splitlines()[1:3] == ["  where  --formats", f"  why    {why}"]

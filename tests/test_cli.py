"""Wrong input earns four lines and exit code 1; the rest of the command line."""

import gzip
import json
from pathlib import Path

import pytest

from tracemortem import cli

SPAN = (
    '{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"edge"}}]},'
    '"scopeSpans":[{"spans":[{"traceId":"%032x","spanId":"%016x","name":"POST","kind":2,'
    '"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":'
    '[{"key":"http.response.status_code","value":{"intValue":"200"}}],"status":{}}]}]}]}\n'
)
START = 1_776_994_500_000_000_000


def spans(count: int) -> str:
    return "".join(
        SPAN % (n + 1, n + 1, START + n * 10**9, START + n * 10**9 + 5 * 10**8) for n in range(count)
    )


def said(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, list[str]]:
    code = cli.main([str(argument) for argument in arguments])
    return code, capsys.readouterr().err.splitlines()


def a_png(folder: Path) -> Path:
    path = folder / "shot.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    return path


def an_empty_file(folder: Path) -> Path:
    path = folder / "access.log"
    path.touch()
    return path


def a_cut_gzip(folder: Path) -> Path:
    path = folder / "spans.jsonl.gz"
    path.write_bytes(gzip.compress(spans(400).encode())[:-2000])
    return path


def a_folder_of_nothing(folder: Path) -> Path:
    path = folder / "things"
    path.mkdir()
    (path / "README").write_text("nothing to see\n")
    return path


def a_file_that_is_not_there(folder: Path) -> Path:
    return folder / "nowhere.jsonl"


@pytest.mark.parametrize(
    "make", [a_png, an_empty_file, a_cut_gzip, a_folder_of_nothing, a_file_that_is_not_there]
)
def test_an_input_that_cannot_be_read_is_said_in_four_lines(make, tmp_path, capsys):
    path = make(tmp_path)
    code, lines = said(capsys, "postmortem", path, "--out", tmp_path / "out", "--quiet")
    assert code == cli.USERS_TO_FIX
    assert [line[:9] for line in lines] == ["tracemort", "  where  ", "  why    ", "  fix    "]
    assert path.name in "".join(lines)


def test_a_failed_run_leaves_no_file_behind(tmp_path, capsys):
    said(capsys, "postmortem", a_cut_gzip(tmp_path), "--out", tmp_path / "out", "--quiet")
    assert [path.name for path in (tmp_path / "out").glob("*")] == []


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--tz", "Mars/Olympus"), ("--set", "long_context_tokens"), ("--set", "nothing=1"),
        ("--set", "long_context_tokens=many"), ("--window", "2026-04-24T02:17Z"), ("--window", "b/a"),
        ("--window", "2026-04-24T03:00Z/2026-04-24T02:00Z"), ("--from", "yesterday"), ("--to", "soon"),
        ("--trusted-proxies", "10.0.0.0/33"), ("--max-rejects", "2"), ("--max-rejects", "few"),
        ("--no-such-option", "1"),
    ],
)  # fmt: skip
def test_an_option_that_makes_no_sense_is_said_in_four_lines(option, value, tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(3))
    code, lines = said(capsys, "postmortem", path, "--out", tmp_path / "out", option, value)
    assert code == cli.USERS_TO_FIX
    assert [line[:9] for line in lines] == ["tracemort", "  where  ", "  why    ", "  fix    "]


def test_more_rejects_than_allowed_end_with_their_own_exit_code(tmp_path):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(30) + "{broken\n" * 5)
    given = ["ingest", str(path), "--db", str(tmp_path / "x.duckdb"), "--quiet"]
    assert cli.main(given) == cli.TOO_MANY_REJECTS
    assert cli.main([*given[:-1], "--max-rejects", "0.5", "--quiet"]) == cli.DONE


def test_a_quiet_recording_has_a_report_that_says_so(tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(600))
    assert cli.main(["postmortem", str(path), "--out", str(tmp_path / "out")]) == cli.DONE
    assert "No incident is confirmed." in capsys.readouterr().out
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert (report["incidents"], report["inputs"][0]["rows"]) == ([], 600)


def test_with_json_every_line_is_an_object_and_the_last_the_result(tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(20))
    cli.main(["ingest", str(path), "--db", str(tmp_path / "x.duckdb"), "--json"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["event"] for line in lines[:-1]} == {"begin", "end"}
    assert (lines[-1]["event"], lines[-1]["requests"]) == ("result", 20)


def test_inspect_says_what_a_file_is_and_why(tmp_path, capsys):
    path = tmp_path / "whatever.bin"
    path.write_text(spans(7) + "{broken\n")
    assert cli.main(["inspect", str(path), "--json"]) == cli.DONE
    found = json.loads(capsys.readouterr().out)
    assert (found["format"], found["rows"], found["rejects"]) == ("otlp_json_lines", 7, 1)
    assert found["reasons"][0].startswith("line 8: ")
    assert found["first_rows"]["span"][0]["service"] == "edge"


def test_formats_lists_every_format_with_what_it_reads(capsys):
    assert cli.main(["formats", "--json"]) == cli.DONE
    found = {line["format"]: line["reads"] for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert found["otlp_json_lines"] == "otlp"
    assert found["nginx:NAME"] == "access_log"


def test_sql_answers_from_a_published_file(tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(20))
    database = tmp_path / "x.duckdb"
    cli.main(["ingest", str(path), "--db", str(database), "--quiet"])
    capsys.readouterr()
    assert cli.main(["sql", str(database), "select count(*) as requests from norm.request"]) == cli.DONE
    assert capsys.readouterr().out == "requests\n20\n"


def test_ingesting_the_same_files_again_changes_nothing(tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(20))
    database = tmp_path / "x.duckdb"
    counts = []
    for _ in range(2):
        cli.main(["ingest", str(path), "--db", str(database), "--quiet"])
        capsys.readouterr()
        cli.main(["sql", str(database), "select count(*), count(distinct file_id) from norm.span"])
        counts.append(capsys.readouterr().out.splitlines()[1])
    assert counts == ["20,1", "20,1"]


def test_a_number_of_detection_can_be_set_and_is_kept_with_the_others(tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(20))
    database = tmp_path / "x.duckdb"
    cli.main(["ingest", str(path), "--db", str(database), "--quiet", "--set", "confirmed_ratio=2.5"])
    capsys.readouterr()
    cli.main(
        ["sql", str(database), "select value, source from meta.threshold where name = 'confirmed_ratio'"]
    )
    assert capsys.readouterr().out == "value,source\n2.5,set by the user\n"

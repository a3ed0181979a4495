"""Wrong input earns four lines and exit code 1; the rest of the command line."""

import gzip
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tracemortem import cli, pipeline
from tracemortem.settings import Settings
from tracemortem.steps.place import taken

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


def a_bomb(folder: Path) -> Path:
    path = folder / "spans.jsonl.gz"
    path.write_bytes(gzip.compress(gzip.compress(spans(400).encode() + bytes(400 << 20), 1)))
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


@pytest.mark.parametrize("command", ["postmortem", "ingest"])
def test_a_folder_that_gives_not_one_row_is_refused_and_its_files_are_named(command, tmp_path, capsys):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "events.jsonl").write_text(
        '{"time": "yesterday", "kind": "deploy", "text": "1"}\n' * 2
    )
    (tmp_path / "in" / "spans.jsonl").write_text('{"resourceSpans":[]}\n')
    place = ("--out", tmp_path / "out") if command == "postmortem" else ("--db", tmp_path / "x.duckdb")
    for _ in range(2):  # what is refused is refused again
        code, lines = said(capsys, command, tmp_path / "in", *place, "--quiet")
        assert (code, lines) == (
            cli.USERS_TO_FIX,
            [
                f"tracemortem: {tmp_path / 'in'} gives no row",
                f"  where  {tmp_path / 'in'}",
                "  why    events.jsonl (events_json_lines): all of its 2 records were rejected, the first "
                "(line 1): time is not RFC 3339: yesterday; "
                "spans.jsonl (otlp_json_lines): it holds no record",
                "  fix    check how these files were recorded; if it is of another format, "
                "see `tracemortem formats` for what is read",
            ],
        )
    assert not (tmp_path / "out" / "report.html").exists()
    assert not (tmp_path / "x.duckdb").exists()


def test_what_an_error_quotes_of_the_data_cannot_steer_the_terminal(tmp_path, capsys):
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps({"time": "\x1b[2J\nroot#", "kind": "deploy", "text": "1"}) + "\n")
    code, lines = said(capsys, "ingest", path, "--db", tmp_path / "x.duckdb", "--quiet")
    assert (code, len(lines)) == (cli.USERS_TO_FIX, 4)
    assert lines[2].endswith(r"time is not RFC 3339: \x1b[2J root#")


def test_one_input_that_gives_no_row_is_refused_though_another_gives_some(tmp_path, capsys):
    for name, text in (("good", spans(3)), ("bad", '{"resourceSpans":[]}\n')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "spans.jsonl").write_text(text)
    given = ("ingest", tmp_path / "good", tmp_path / "bad", "--db", tmp_path / "x.duckdb", "--quiet")
    code, lines = said(capsys, *given)
    assert (code, lines[0]) == (cli.USERS_TO_FIX, f"tracemortem: {tmp_path / 'bad'} gives no row")


def test_an_input_of_copies_alone_gives_the_rows_of_what_they_are_copies_of(tmp_path, capsys):
    for name in ("good", "copies"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "spans.jsonl").write_text(spans(3))
    given = ("ingest", tmp_path / "good", tmp_path / "copies", "--db", tmp_path / "x.duckdb", "--quiet")
    assert said(capsys, *given) == (cli.DONE, [])


def test_formats_of_logs_without_any_log_are_refused(tmp_path, capsys):
    conf = tmp_path / "nginx.conf"
    conf.write_text("log_format llm '$remote_addr [$time_local] $status $request_time';\n")
    code, lines = said(capsys, "ingest", conf, "--db", tmp_path / "x.duckdb", "--quiet")
    assert (code, lines[0]) == (cli.USERS_TO_FIX, "tracemortem: the inputs hold no telemetry")


def test_a_file_of_a_folder_that_gives_no_row_is_named_in_the_report(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "good.jsonl").write_text(spans(300))
    (tmp_path / "in" / "bad.jsonl").write_text('{"resourceSpans":[]}\n')
    assert cli.main(["postmortem", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    quality = json.loads((tmp_path / "out" / "report.json").read_text())["quality"]
    (found,) = [one for one in quality if one["check"] == "input_without_rows"]
    assert (found["status"], "bad.jsonl" in found["text"]) == ("warn", True)


def test_a_failed_run_leaves_no_file_behind(tmp_path, capsys):
    said(capsys, "postmortem", a_cut_gzip(tmp_path), "--out", tmp_path / "out", "--quiet")
    assert [path.name for path in (tmp_path / "out").glob("*")] == []


def a_file(folder: Path) -> Path:
    path = folder / "file"
    path.touch()
    return path


@pytest.mark.parametrize("where", ["file", "file/out"])
def test_a_folder_for_the_report_that_cannot_be_is_said_in_four_lines(where, tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(3))
    a_file(tmp_path)
    code, lines = said(capsys, "postmortem", path, "--out", tmp_path / where)
    assert (code, lines[0]) == (
        cli.USERS_TO_FIX,
        f"tracemortem: nothing can be written into {tmp_path / where}",
    )
    assert len(lines) == 4


def test_a_report_that_cannot_be_written_is_said_in_four_lines_and_leaves_nothing(tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(3))
    (tmp_path / "out" / "report.md").mkdir(parents=True)
    code, lines = said(capsys, "postmortem", path, "--out", tmp_path / "out")
    assert (code, lines[0], len(lines)) == (cli.USERS_TO_FIX, "tracemortem: the report cannot be written", 4)
    assert not list((tmp_path / "out").glob(".*"))


def test_a_run_on_a_file_that_another_works_on_is_refused_in_four_lines(tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(3))
    with taken(Settings(inputs=("x",), db=str(tmp_path / "x.duckdb"))):
        code, lines = said(capsys, "ingest", path, "--db", tmp_path / "x.duckdb")
    assert (code, lines[0], len(lines)) == (cli.USERS_TO_FIX, "tracemortem: x.duckdb is in use", 4)


def test_who_reads_the_published_file_goes_on_reading_it(tmp_path, capsys):
    path, database = tmp_path / "spans.jsonl", tmp_path / "x.duckdb"
    path.write_text(spans(20))
    assert cli.main(["ingest", str(path), "--db", str(database), "--quiet"]) == cli.DONE
    with duckdb.connect(database, read_only=True) as reader:
        path.write_text(spans(30))
        assert cli.main(["ingest", str(path), "--db", str(database), "--quiet"]) == cli.DONE
        assert reader.execute("select count(*) from norm.request").fetchall() == [(20,)]
    with duckdb.connect(database, read_only=True) as reader:
        assert reader.execute("select count(*) from norm.request").fetchall() == [(30,)]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--tz", "Mars/Olympus"), ("--set", "long_context_tokens"), ("--set", "nothing=1"),
        ("--set", "long_context_tokens=many"), ("--window", "2026-04-24T02:17Z"), ("--window", "b/a"),
        ("--window", "2026-04-24T03:00Z/2026-04-24T02:00Z"), ("--from", "yesterday"), ("--to", "soon"),
        ("--trusted-proxies", "10.0.0.0/33"), ("--max-rejects", "2"), ("--max-rejects", "few"),
        ("--no-such-option", "1"), ("--db", ""), ("--every", "0"), ("--start", "noon"),
    ],
)  # fmt: skip
def test_an_option_that_makes_no_sense_is_said_in_four_lines(option, value, tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(3))
    code, lines = said(capsys, "postmortem", path, "--out", tmp_path / "out", option, value)
    assert code == cli.USERS_TO_FIX
    assert [line[:9] for line in lines] == ["tracemort", "  where  ", "  why    ", "  fix    "]


def test_more_rejects_than_allowed_end_with_their_own_exit_code(tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(30) + "{broken\n" * 5)
    given = ["ingest", str(path), "--db", str(tmp_path / "x.duckdb"), "--quiet"]
    assert cli.main(given) == cli.TOO_MANY_REJECTS
    assert capsys.readouterr().err == (
        "tracemortem: 14.29% of the records were rejected, more than --max-rejects 1.00%; "
        "meta.reject lists each with its reason\n"
    )
    assert cli.main([*given, "--max-rejects", "0.5"]) == cli.DONE


def test_a_quiet_recording_has_a_report_that_says_so(tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(600))
    assert cli.main(["postmortem", str(path), "--out", str(tmp_path / "out")]) == cli.DONE
    assert "No incident is confirmed." in capsys.readouterr().out
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert (report["incidents"], report["inputs"][0]["rows"]) == ([], 600)


@pytest.fixture
def a_report(tmp_path, capsys, monkeypatch):
    """A report of an incident that somebody named, and what makes it again: exit code, lines on stderr."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1777000000")
    path, said_of_it = tmp_path / "spans.jsonl", tmp_path / "annotations.yaml"
    path.write_text(spans(1200))
    said_of_it.write_text(
        "annotations: [{service: edge, window: 2026-04-24T01:45Z/2026-04-24T01:50Z, verdict: confirmed, "
        "note: customers called}]"
    )

    def again() -> tuple[int, list[str]]:
        return said(capsys, "postmortem", path, "--out", tmp_path / "out", "--annotations", said_of_it)

    assert again() == (cli.DONE, [])
    return tmp_path / "out" / "report.md", again


def test_what_people_wrote_in_a_report_is_kept_when_it_is_made_again(a_report):
    path, again = a_report
    place = re.compile(rb"(<!-- yours: lessons \S+ .*-->\n)\n(<!-- /yours -->)")
    path.write_bytes(place.sub(rb"\1Nobody  watched <b>it</b>.\r\n\2", path.read_bytes()))
    assert b"Nobody  watched" in path.read_bytes()
    before = path.read_bytes()
    assert again() == (cli.DONE, [])
    assert (path.read_bytes(), sorted(path.parent.glob("*.bak*"))) == (before, [])
    assert "<p>Nobody  watched &lt;b&gt;it&lt;/b&gt;.</p>" in path.with_suffix(".html").read_text()
    assert b"Nobody" not in path.with_suffix(".json").read_bytes()


def test_a_report_that_was_changed_elsewhere_is_kept_beside_the_new_one(a_report):
    path, again = a_report
    for number, name in enumerate(("report.md.bak", "report.md.bak.2")):
        changed = path.read_bytes().replace(b"## Summary", b"## Our summary %d" % number)
        path.write_bytes(changed)
        assert again() == (
            cli.DONE,
            [
                f"tracemortem: {path} was changed outside of the places for people, and is made anew; "
                f"as it was, it is kept in {path.with_name(name)}"
            ],
        )
        assert path.with_name(name).read_bytes() == changed
        assert b"## Summary" in path.read_bytes()
    path.write_bytes(changed)
    again()
    assert len(list(path.parent.glob("*.bak*"))) == 2  # what is kept already is not kept twice


def test_damaged_marks_stop_the_run_before_it_begins_and_nothing_is_lost(a_report):
    path, again = a_report
    damaged = path.read_bytes().replace(b"<!-- /yours -->", b"", 1)
    path.write_bytes(damaged)
    code, lines = again()
    assert (code, lines[0], len(lines)) == (
        cli.USERS_TO_FIX,
        "tracemortem: the marks of a place for people are damaged",
        4,
    )
    assert re.fullmatch(rf"  where  {path}, line \d+", lines[1])
    assert path.read_bytes() == damaged


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


def test_inspect_says_which_attributes_the_columns_came_from(tmp_path, capsys):
    path = tmp_path / "whatever.bin"
    path.write_text(spans(7))
    assert cli.main(["inspect", str(path)]) == cli.DONE
    assert "  name    http_status from http.response.status_code (7)\n" in capsys.readouterr().out


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


def test_inspect_shows_every_file_before_it_names_one_without_rows(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text('{"resourceSpans":[]}\n')
    (tmp_path / "b.jsonl").write_text(spans(7))
    assert cli.main(["inspect", str(tmp_path), "--json"]) == cli.USERS_TO_FIX
    shown = capsys.readouterr()
    assert [json.loads(line)["rows"] for line in shown.out.splitlines()] == [0, 7]
    assert shown.err.startswith("tracemortem: a.jsonl gives no row\n")


def test_quiet_says_nothing_at_all(tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(20))
    assert cli.main(["postmortem", str(path), "--out", str(tmp_path / "out"), "--quiet"]) == cli.DONE
    assert capsys.readouterr() == ("", "")


def test_quiet_with_json_gives_the_result_alone(tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(20))
    cli.main(["ingest", str(path), "--db", str(tmp_path / "x.duckdb"), "--quiet", "--json"])
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {
            "event": "result",
            "requests": 20,
            "incidents_confirmed": None,
            "rejected_share": 0.0,
            "database": str(tmp_path / "x.duckdb"),
            "report": None,
            "warnings": [],
        }
    ]


def test_what_somebody_wrote_beside_the_file_is_warned_of_on_stderr(tmp_path, capsys):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(20))
    (tmp_path / "x.duckdb.wal").write_text("somebody's")
    assert cli.main(["ingest", str(path), "--db", str(tmp_path / "x.duckdb")]) == cli.DONE
    assert capsys.readouterr().err.startswith("tracemortem: somebody wrote to x.duckdb, ")


def test_a_recording_without_requests_is_not_called_quiet(tmp_path, capsys):
    path = tmp_path / "events.jsonl"
    path.write_text('{"time": "2026-04-24T02:51:00Z", "kind": "deploy", "text": "1.2"}\n')
    assert cli.main(["postmortem", str(path), "--out", str(tmp_path / "out")]) == cli.DONE
    assert capsys.readouterr().out.startswith("No request of known latency was found to look at; ")


def test_a_fault_of_our_own_is_said_to_be(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(pipeline, "ingest", lambda settings: 1 // 0)
    code, lines = said(capsys, "ingest", "x", "--db", tmp_path / "x.duckdb")
    assert (code, lines[-1]) == (cli.OUR_FAULT, "ZeroDivisionError: integer division or modulo by zero")
    assert "this is our own fault, please report it" in lines[0]


def test_a_query_that_ctrl_c_broke_off_is_no_fault(tmp_path, capsys, monkeypatch):
    def query(settings: Settings) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise RuntimeError("Query interrupted") from None  # as DuckDB does

    monkeypatch.setattr(pipeline, "ingest", query)
    assert said(capsys, "ingest", "x", "--db", tmp_path / "x.duckdb") == (
        cli.STOPPED,
        ["tracemortem: stopped; nothing half-written is left behind"],
    )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def run(*arguments: str | Path, **options: object) -> subprocess.Popen[str]:
    """The command as a process of its own; its output is read from pipes."""
    path = str(Path(cli.__file__).parent.parent)
    given = [sys.executable, "-m", "tracemortem", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "100", "TERM": "xterm"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(given, env=environment, **(pipes | options))


def test_a_decompression_bomb_is_said_in_four_lines_and_leaves_nothing(tmp_path, capsys):
    code, told = said(capsys, "postmortem", a_bomb(tmp_path), "--out", tmp_path / "out", "--quiet")
    assert (code, [line.split()[0] for line in told]) == (1, ["tracemortem:", "where", "why", "fix"])
    assert told[0].endswith("the gzip file spans.jsonl.gz looks like a decompression bomb")
    assert list((tmp_path / "out").iterdir()) == []


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(3000))
    with run("postmortem", path, "--out", tmp_path / "out", "--json") as process:
        for line in process.stdout:
            if json.loads(line)["label"] == "tables":
                break
        process.send_signal(signal.SIGINT)
        _, said_last = process.communicate()
    assert process.returncode == cli.STOPPED
    assert said_last == "tracemortem: stopped; nothing half-written is left behind\n"
    assert list((tmp_path / "out").iterdir()) == []


def test_a_reader_that_leaves_ends_the_run_without_a_word(tmp_path):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(20))
    with run("ingest", path, "--db", tmp_path / "x.duckdb", "--json") as process:
        process.stdout.readline()
        process.stdout.close()
        said_last = process.stderr.read()
    assert (process.returncode, said_last) == (cli.READER_LEFT, "")


def test_on_a_terminal_bars_show_bytes_and_rows_a_second(tmp_path):
    path = tmp_path / "spans.jsonl"
    path.write_text(spans(200))
    master, terminal = pty.openpty()
    with run("ingest", path, "--db", tmp_path / "x.duckdb", stderr=terminal) as process:
        os.close(terminal)
        shown = b""
        while part := _read(master):
            shown += part
        told = process.stdout.read()
    assert re.search(rb"spans\.jsonl.*[\d.]+ [kM]?B  [\d.]+ [kM]?B/s.* 200 rows  [\d,]+ rows/s", shown)
    assert told.startswith("200 requests stand in the tables.\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # which is how a terminal says that nobody writes to it any more
        return b""


def test_a_site_of_a_file_that_is_not_there_is_refused(tmp_path, capsys):
    code, lines = said(capsys, "site", "--db", tmp_path / "x.duckdb", "--out", tmp_path / "site")
    assert (code, lines[0], len(lines)) == (cli.USERS_TO_FIX, "tracemortem: there is no x.duckdb", 4)


def test_a_site_of_what_is_no_duckdb_file_is_refused(tmp_path, capsys):
    code, lines = said(capsys, "site", "--db", a_png(tmp_path), "--out", tmp_path / "site")
    assert (code, lines[0], len(lines)) == (cli.USERS_TO_FIX, "tracemortem: shot.png cannot be used", 4)


def test_a_site_of_a_file_without_a_diagnosis_is_refused_and_says_what_to_run(tmp_path, capsys):
    (tmp_path / "spans.jsonl").write_text(spans(400))
    said(capsys, "ingest", tmp_path / "spans.jsonl", "--db", tmp_path / "x.duckdb", "--quiet")
    code, lines = said(capsys, "site", "--db", tmp_path / "x.duckdb", "--out", tmp_path / "site")
    assert (code, len(lines)) == (cli.USERS_TO_FIX, 4)
    assert lines[0] == "tracemortem: there is no diagnosis that this version reads"
    assert lines[3] == "  fix    run `tracemortem postmortem` on the inputs with this version"
    assert not (tmp_path / "site" / "index.html").exists()


def test_a_site_is_not_put_where_something_else_lies(tmp_path, capsys):
    code, lines = said(capsys, "site", "--db", a_png(tmp_path), "--out", tmp_path)
    assert (code, lines[0]) == (cli.USERS_TO_FIX, f"tracemortem: {tmp_path} holds something else")
    assert lines[2].startswith("  why    it has shot.png in it")

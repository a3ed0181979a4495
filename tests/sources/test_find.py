"""Every file among the INPUTs is recognised by its content, and none is left out without a reason."""

import gzip
from pathlib import Path

import pytest

from tracemortem.errors import InputError
from tracemortem.sources.find import Found, survey
from tracemortem.sources.registry import read

COMBINED = '203.0.113.9 - - [03/Feb/2026:12:02:07 +0100] "GET / HTTP/1.1" 200 5 "-" "curl"\n'
LLM = '203.0.113.9 [03/Feb/2026:12:02:07 +0100] "GET / HTTP/1.1" 200 rt=0.1\n'
DIRECTIVE = "log_format llm '$remote_addr [$time_local] '\n  '\"$request\" $status rt=$request_time';\n"
EVENT = '{"time": "2026-02-03T11:02:07Z", "kind": "deploy", "text": "v2"}\n'
SPANS = '{"resourceSpans":[]}\n'
SAMPLE = '# TYPE a gauge\na{x="1"} 1 1770116527000\n'


def written(folder: Path, **files: str | bytes) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def kinds(found: list[Found]) -> list[tuple[str, str, str]]:
    return [(file.shown, file.kind, file.format) for file in found]


def refused(*inputs: str) -> InputError:
    with pytest.raises(InputError) as caught:
        survey(inputs)
    return caught.value


def test_files_are_told_by_content_not_by_name(tmp_path: Path):
    written(tmp_path, a=SPANS, b=gzip.compress(SAMPLE.encode()), c=COMBINED, d=EVENT, e=DIRECTIVE)
    assert kinds(survey([str(tmp_path)])) == [
        ("a", "otlp", "otlp_json_lines"),
        ("b", "metrics_text", "prometheus_text"),
        ("c", "access_log", "nginx_combined"),
        ("d", "events", "events_json_lines"),
        ("e", "log_format", "nginx log_format llm"),
    ]


def test_a_folder_is_read_through_sorted_and_without_hidden_files(tmp_path: Path):
    written(tmp_path, b__z=EVENT, b__a__c=EVENT, a=EVENT, _dot_git__x=EVENT, _dot_x=EVENT)
    assert [file.shown for file in survey([str(tmp_path)])] == ["a", "b/a/c", "b/z"]


def test_a_log_format_anywhere_among_the_inputs_reads_the_logs_it_wrote(tmp_path: Path):
    written(tmp_path, logs__access_log=LLM, conf__nginx_conf=DIRECTIVE)
    (log, _) = survey([str(tmp_path / "logs"), str(tmp_path / "conf")])
    assert (log.kind, log.format, log.reason) == (
        "access_log",
        "nginx:llm",
        "nginx log_format llm reads 1 of the first 1 lines",
    )


def test_of_two_formats_that_read_a_log_the_one_that_gives_more_is_taken(tmp_path: Path):
    less = DIRECTIVE.replace("llm", "less").replace("$request_time", "$my_time")
    written(tmp_path, a=LLM, b=less, c=DIRECTIVE)
    assert survey([str(tmp_path)])[0].format == "nginx:llm"


def test_a_log_of_which_less_than_half_is_read_is_skipped_with_the_nearest(tmp_path: Path):
    written(tmp_path, a=COMBINED + "junk\n" * 2, b=EVENT)
    assert survey([str(tmp_path)])[0].reason == (
        "text of no known format; the nearest, nginx_combined, reads 1 of the first 3 lines"
    )


def test_half_the_lines_are_enough(tmp_path: Path):
    written(tmp_path, a=COMBINED + "junk\n")
    assert survey([str(tmp_path)])[0].kind == "access_log"


def test_a_log_that_begins_with_a_bracket_is_not_json(tmp_path: Path):
    written(tmp_path, a="[03/Feb/2026:12:02:07 +0100] 200\n", b="log_format x '[$time_local] $status';")
    assert survey([str(tmp_path)])[0].format == "nginx:x"


def test_what_is_no_telemetry_is_skipped_with_a_reason(tmp_path: Path):
    written(
        tmp_path,
        README="# Notes\n\nlog_format is described below\n",
        truth_json='{\n "cause": "x",\n "start": 1\n}\n',
        empty=b"",
        plot=b"\x89PNG\r\n\x1a\n\0\0",
        scrape="# HELP up whether it is up\n# TYPE up gauge\n",
        spans=SPANS,
    )
    assert [(file.shown, file.reason) for file in survey([str(tmp_path)]) if file.kind == "skipped"] == [
        ("README", "text of no known format; it begins: # Notes"),
        ("empty", "it is an empty file"),
        ("plot", "it is a PNG picture"),
        ("scrape", "Prometheus text that names metrics and holds no sample"),
        ("truth_json", "JSON that is no telemetry known here (keys cause, start)"),
    ]


@pytest.mark.parametrize(
    "content",
    [
        '{\n  "resourceSpans": [\n  ]\n}\n',
        '{"resourceSpans":[]}{"resourceLogs":[]}\n',
        '[{"resourceSpans":[]},{"resourceLogs":[]}]\n',
        '[\n {"resourceSpans":[]}\n]',
        '{"schemaUrl":"",\n"resource_metrics":[]}',
        '{"trace":\n{"resourceSpans":[]}}',
        '{\n "batches": [{"scopeSpans": []}]}',
        '{\n"resourceSpans": [{"x":"' + "y\n" * 50_000,
        '{"resourceSpans":[{"x":"' + "y" * (5 << 20),
        '{"resourceSpans":[{"x":"' + "y" * 100_000 + '"}]}{"resourceSpans":[]}\n',
    ],
    ids=[
        "pretty",
        "joined",
        "list",
        "list on lines",
        "snake",
        "wrapped",
        "tempo",
        "long",
        "longer",
        "long and joined",
    ],
)
def test_otlp_in_documents_that_are_not_one_a_line_is_told(tmp_path: Path, content: str):
    written(tmp_path, a=content)
    assert kinds(survey([str(tmp_path)])) == [("a", "otlp", "otlp_json_documents")]


@pytest.mark.parametrize("content", ['{\n "batches": [{"x": []}]}', '{\n"spans": ["resourceSpans"]}'])
def test_json_that_only_looks_like_otlp_is_skipped(tmp_path: Path, content: str):
    written(tmp_path, a=content, b=EVENT)
    assert survey([str(tmp_path)])[0].kind == "skipped"


def test_otlp_is_told_by_a_first_line_longer_than_what_is_looked_at(tmp_path: Path):
    written(tmp_path, a='{"resourceSpans":[{"x":"' + "y" * 100_000 + '"}]}\n')
    assert survey([str(tmp_path)])[0].format == "otlp_json_lines"


def test_a_table_of_words_and_numbers_is_not_prometheus_text(tmp_path: Path):
    written(tmp_path, a="total 5\nfree 3\n", b=EVENT)
    assert survey([str(tmp_path)])[0].kind == "skipped"


def test_json_of_a_log_format_beside_it_is_read_by_that(tmp_path: Path):
    written(
        tmp_path,
        a='log_format j escape=json \'{"t":"$msec","n":$status}\';',
        b='{"t":"1770116527.5","n":200}\n',
    )
    assert kinds(survey([str(tmp_path)])) == [
        ("a", "log_format", "nginx log_format j"),
        ("b", "access_log", "nginx:j"),
    ]


def test_a_log_of_an_apache_log_format_beside_it_is_read_by_that(tmp_path: Path):
    written(tmp_path, a='LogFormat "%a %{msec}t %>s %D" short\n', b="203.0.113.9 1770116527655 200 4210000\n")
    assert kinds(survey([str(tmp_path)])) == [
        ("a", "log_format", "Apache LogFormat short"),
        ("b", "access_log", "apache:short"),
    ]


def test_a_glob_shows_paths_below_its_fixed_part(tmp_path: Path):
    written(tmp_path, x__a__f_log=COMBINED, x__b__f_log=COMBINED, x__b__g=EVENT)
    assert [file.shown for file in survey([str(tmp_path / "x" / "*" / "f_log")])] == ["a/f_log", "b/f_log"]


def test_a_glob_that_matches_folders_reads_them_through(tmp_path: Path):
    written(tmp_path, xa__f=EVENT, xb__g=EVENT, y__h=EVENT)
    assert [file.shown for file in survey([str(tmp_path / "x*")])] == ["xa/f", "xb/g"]


def test_a_file_reached_twice_is_read_once(tmp_path: Path):
    written(tmp_path, a=EVENT)
    assert [file.shown for file in survey([str(tmp_path), str(tmp_path / "a")])] == ["a"]


def test_a_single_file_is_shown_by_its_name(tmp_path: Path):
    written(tmp_path, x__a=EVENT)
    assert [file.shown for file in survey([str(tmp_path / "x" / "a")])] == ["a"]


def test_a_link_to_a_folder_is_listed_and_not_followed(tmp_path: Path):
    written(tmp_path, x__a=EVENT)
    (tmp_path / "x" / "round").symlink_to(tmp_path)
    assert survey([str(tmp_path)])[1].reason == "a link to a folder is not followed"


def test_a_link_to_nothing_is_listed(tmp_path: Path):
    written(tmp_path, a=EVENT)
    (tmp_path / "b").symlink_to(tmp_path / "nowhere")
    assert survey([str(tmp_path)])[1].reason == "it is no file that can be read"


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path):
    path = str(tmp_path / "nowhere")
    assert str(refused(path)) == (
        f"{path} is not there\n"
        f"  where  {path}\n"
        "  why    there is no such file or folder\n"
        "  fix    check the path"
    )


def test_a_glob_that_matches_nothing_is_an_error(tmp_path: Path):
    assert refused(str(tmp_path / "*.log")).what.endswith("*.log matches no file")


def test_a_url_is_an_error_that_says_what_to_do():
    assert refused("s3://bucket/logs").fix == "download it first"


def test_an_empty_folder_is_an_error(tmp_path: Path):
    assert refused(str(tmp_path)).what == f"{tmp_path} is empty"


def test_a_folder_in_which_nothing_is_known_is_an_error_that_names_what_is_there(tmp_path: Path):
    written(tmp_path, a="hello\n", b=b"")
    error = refused(str(tmp_path))
    assert (error.what, error.why) == (
        f"{tmp_path} holds nothing that is known here",
        "2 files were looked at; a: text of no known format; it begins: hello; b: it is an empty file",
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is an empty file"),
        (b"\x89PNG\r\n\x1a\n", "it is a PNG picture"),
        (b"\x28\xb5\x2f\xfd", "the zstd file a ends early: Truncated compressed stream"),
        (
            b"\x1f\x8b\x07" * 9,
            "the gzip file a is damaged: Error -3 while decompressing data: unknown compression method",
        ),
        (gzip.compress(b"hello\n", mtime=0), "text of no known format; it begins: hello"),
        (b"\n\n", "it holds nothing but blank lines"),
    ],
)
def test_a_file_given_by_name_that_cannot_be_read_is_an_error(tmp_path: Path, content: bytes, why: str):
    written(tmp_path, a=content)
    assert refused(str(tmp_path / "a")).why == why


def test_the_format_that_came_second_is_named(tmp_path: Path):
    written(tmp_path, a=COMBINED)
    (file,) = survey([str(tmp_path)])
    assert (file.format, file.runner_up) == ("nginx_combined", "apache_combined (1)")


def test_a_trace_that_counts_in_seconds_is_not_taken_for_one_that_counts_in_milliseconds(tmp_path: Path):
    chat = '{"chat_id": 1, "parent_chat_id": -1, "timestamp": 2.5'
    line = chat + ', "input_length": 9, "output_length": 1, "hash_ids": [3]}'
    (tmp_path / "a").write_text(f"{line}\n" * 3)
    assert [found.format for found in survey([str(tmp_path)])] == ["qwen_bailian_trace"]


def test_a_time_before_the_line_is_its_own_where_the_format_has_it(tmp_path: Path):
    line = "2026-02-03T12:02:07+01:00 203.0.113.9 200 4.210\n"
    form = "log_format gate '$time_iso8601 $remote_addr $status $request_time';\n"
    written(tmp_path, nginx_conf=form, access_log=line)
    (log,) = (file for file in survey([str(tmp_path)]) if file.kind == "access_log")
    (batch,) = read(log)
    assert batch.rows["access"].select("peer_address", "status", "duration_s").rows() == [
        ("203.0.113.9", 200, 4.21)
    ]


def test_a_time_that_a_container_put_before_the_line_is_not_of_the_format(tmp_path: Path):
    line = '203.0.113.9 - - [03/Feb/2026:12:02:07 +0100] "GET / HTTP/1.1" 200 5 "-" "x"\n'
    written(tmp_path, access_log=f"2026-02-03T11:02:08.000000000Z {line}")
    (log,) = survey([str(tmp_path)])
    assert (log.format, log.text_format is not None and log.text_format.keeps_stamp) == (
        "nginx_combined",
        False,
    )

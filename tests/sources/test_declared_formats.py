"""A declared format is held to its samples when it is loaded; a faulty one says what, where, why and fix."""

import re
from pathlib import Path

import duckdb
import pytest

from tracemortem import folders
from tracemortem.errors import DefinitionError
from tracemortem.sources.declared_formats import formats, load

GOOD = {
    "format": "mine",
    "title": "my gateway",
    "url": "https://example.org",
    "line": r"'^(?P<t>[0-9]+) (?P<s>[0-9]{3})$'",
    "fields": "{t: {finished_at: {time: epoch_s}}, s: {status: {}}}",
    "samples": "[{line: '1770116527 200', gives: {finished_at: 2026-02-03 11:02:07, status: 200}}]",
    "refuses": "[{line: '1770116527 2000', why: a status has three digits}]",
}


def folder(path: Path, **changes: str | None) -> Path:
    entries = {**GOOD, **changes}
    text = "".join(f"{key}: {value}\n" for key, value in entries.items() if value is not None)
    (path / "mine.yaml").write_text(text)
    return path


def test_a_format_of_ones_own_is_loaded(tmp_path: Path):
    (form,) = load(folder(tmp_path))
    assert (form.name, form.columns) == ("mine", {"finished_at", "status"})


def test_the_formats_that_travel_with_the_code_hold_to_their_samples():
    assert load(folders.definitions("sources", "formats")) == formats()


def test_the_formats_that_travel_with_the_code_come_likeliest_first():
    assert [form.name for form in formats()] == [
        "apache_common",
        "apache_vhost_combined",
        "apisix",
        "aws_alb",
        "azure_llm_trace",
        "burstgpt_trace",
        "caddy",
        "cloudflare_json",
        "cloudfront",
        "dynamo_request_trace",
        "envoy_default",
        "envoy_json",
        "haproxy_http",
        "istio_text",
        "kong_json",
        "litellm_json",
        "llmservingsim_workload",
        "mooncake_trace",
        "nginx_combined",
        "nginx_combined_chain",
        "nginx_ingress",
        "nginx_json",
        "nginx_main",
        "qwen_bailian_trace",
        "splitwise_trace",
        "traefik_clf",
        "traefik_json",
        "uvicorn",
        "vllm_bench",
        "apache_combined",
    ]


TEXT = [form for form in formats() if not form.needs]


@pytest.mark.parametrize("form", TEXT, ids=lambda form: form.name)
def test_every_pattern_is_taken_by_re2_and_by_python_too(form):
    found = duckdb.sql("select regexp_matches('x', $pattern)", params={"pattern": form.pattern}).fetchall()
    assert (found, re.compile(form.pattern).match("x")) == ([(False,)], None)


@pytest.mark.parametrize(
    ("changes", "what", "why"),
    [
        (
            {"line": None, "json": "[t, t.s]", "fields": "{t: {finished_at: {time: epoch_s}}}"},
            "format 'mine' reads 't' as a value and as an object",
            "a path that others go on from holds no text or number",
        ),
        (
            {"fields": "{t: {finished_at: {time: epoch_s}}, s: {status: {}}, u: {path: {}}}"},
            "format 'mine' reads a group that is not in its line",
            "u",
        ),
        (
            {"samples": "[{line: '1770116527 200', gives: {finished_at: 2026-02-03 11:02:07, status: 201}}]"},
            "format 'mine' misreads its sample 1",
            "status is 200, sample says 201",
        ),
        (
            {"samples": "[{line: '1770116527', gives: {}}]"},
            "format 'mine' does not read its sample 1",
            "no line of mine",
        ),
        (
            {"refuses": "[{line: '1770116527 200', why: it is another's}]"},
            "format 'mine' takes line 1 of those it should refuse",
            "it is another's",
        ),
        (
            {"fields": "{s: {status: {}}}"},
            "format 'mine' reads no time",
            "no field gives started_at or finished_at",
        ),
        ({"samples": None}, "mine.yaml lacks 'samples'", "the definition cannot be used without it"),
        (
            {"line": r"'^(?P<t>[0-9]+) (?P<s>[0-9]{3})(?=x)$'"},
            "the line of format 'mine' is no pattern",
            None,
        ),
        ({"line": r"'^(?P<t>[0-9]+ (?P<s>[0-9]{3})$'"}, "the line of format 'mine' is no pattern", None),
        ({"line": None, "log_format": "'$status'"}, "format 'mine' cannot be read", None),
        ({"colour": "red"}, "mine.yaml has a key nobody reads: 'colour'", None),
    ],
)
def test_a_faulty_format_says_what_is_wrong(tmp_path: Path, changes, what: str, why: str | None):
    with pytest.raises(DefinitionError) as caught:
        load(folder(tmp_path, **changes))
    assert (caught.value.what, caught.value.why if why else None) == (what, why)


def test_a_field_that_gives_no_known_column_says_which_there_are(tmp_path: Path):
    with pytest.raises(DefinitionError, match="gives 'latency'") as caught:
        load(folder(tmp_path, fields="{t: {finished_at: {time: epoch_s}}, s: {latency: {}}}"))
    assert caught.value.where == f"{tmp_path.name}/mine.yaml"

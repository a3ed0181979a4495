"""Strings of strangers stand in Markdown as they are, whatever they hold."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tracemortem.report.escaping import anchor, code, code_cell, escaped, fenced, visible

READER = MarkdownIt("commonmark", {"html": False}).enable("table")

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![x](http://203.0.113.9/x.png)",
    "*bold* _slanted_ ~~gone~~ `code`",
    "a | b || c",
    "\\| \\\\` \\",
    "# heading",
    "- item",
    "1. item",
    "===",
    "--- | ---",
    "&lt;b&gt; &amp; &#x3c;",
    "{{ 7 * 7 }} {% raw %}",
    "$x^2$ ``a`b``",
    "<http://203.0.113.9>",
    "> quote",
    "[x]: http://203.0.113.9",
]


def words(markdown: str) -> str:
    """What a reader sees of it: the text of its only paragraph."""
    tokens = READER.parse(markdown)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    children = tokens[1].children or []
    assert {child.type for child in children} <= {"text", "text_special"}
    return "".join(child.content for child in children)


@pytest.mark.parametrize("text", HOSTILE)
def test_an_escaped_string_is_shown_as_it_is(text):
    assert words(escaped(text)) == text.strip()


@pytest.mark.parametrize("text", HOSTILE)
def test_an_escaped_string_stays_in_its_cell(text):
    table = READER.render(f"| a | b |\n|---|---|\n| {escaped(text)} | end |")
    assert f"<td>{html.escape(text.strip(), quote=False)}</td>\n<td>end</td>" in table.replace("&quot;", '"')


@pytest.mark.parametrize("text", HOSTILE)
def test_code_in_a_cell_is_shown_as_it_is(text):
    table = READER.render(f"| a | b |\n|---|---|\n| {code_cell(text)} | end |")
    assert f"<td><code>{html.escape(text, quote=False)}</code></td>\n<td>end</td>" in table


@given(st.text(max_size=60).filter(lambda text: visible(text).strip()))
def test_any_text_at_all_is_shown_as_it_is(text):
    assert words(escaped(text)) == visible(text).strip()


@given(st.text(max_size=60))
def test_any_text_at_all_stays_one_code_span(text):
    tokens = READER.parse(code(text))
    assert [child.type for child in tokens[1].children or []] == ["code_inline"]


@given(st.text(max_size=80))
def test_no_text_ends_its_code_block(text):
    tokens = READER.parse(fenced(text, "sql") + "\n")
    assert [token.type for token in tokens] == ["fence"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "a⟨U+0000⟩b"),
        ("a\x1b[31mb", "a⟨U+001B⟩[31mb"),
        ("a\nb\tc\rd", "a b c d"),
        ("evil\u202egpj.exe", "evil⟨U+202E⟩gpj.exe"),
        ("a\u200bb\ufeff", "a⟨U+200B⟩b⟨U+FEFF⟩"),
        ("a\u2028b", "a⟨U+2028⟩b"),
        ("caf\udce9", "caf⟨U+DCE9⟩"),
        ("\x85\x7f", "⟨U+0085⟩⟨U+007F⟩"),
        ("长提示 ünïcode 🙂", "长提示 ünïcode 🙂"),
    ],
)
def test_hidden_characters_are_shown_by_name(text, shown):
    assert visible(text) == shown


def test_a_stranger_s_address_is_no_link_on_github_either():
    assert escaped("see http://203.0.113.9/x and www.example.org") == (
        r"see http:\/\/203.0.113.9/x and www\.example.org"
    )


def test_plain_sentences_and_names_stay_readable():
    text = "P99 rose from 1.2 s to 3.8 s (-0.3 %); prefix_hit_ratio fell, see vllm:num_preemptions_total."
    assert escaped(text) == text


def test_a_heading_is_found_where_github_puts_it():
    assert anchor("Query evidence.long_context") == "query-evidencelong_context"

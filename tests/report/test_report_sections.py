"""postmortem.yaml and words.yaml: what they may say, and that nothing in reports/ is left over."""

from pathlib import Path

import orjson
import pytest

from tracemortem.errors import DefinitionError
from tracemortem.folders import folder
from tracemortem.report.sections import found, frames, sections, words

REPORTS = folder("reports")


def declared(tmp_path: Path, text: str):
    (tmp_path / "postmortem.yaml").write_text(text, encoding="utf-8")
    return sections([tmp_path])


def complaint(tmp_path: Path, text: str) -> tuple[str, str]:
    with pytest.raises(DefinitionError) as caught:
        declared(tmp_path, text)
    return caught.value.what, caught.value.why


def test_every_section_has_a_template_and_every_template_a_section():
    templates = {path.name for path in (REPORTS / "sections").iterdir()}
    declared = (*sections([REPORTS]), *sections([REPORTS], "daily.yaml"))
    assert templates == {Path(section.template).name for section in declared}


def test_every_part_is_included_somewhere():
    texts = "".join(path.read_text(encoding="utf-8") for path in REPORTS.rglob("*.md.j2"))
    assert [part.name for part in (REPORTS / "parts").iterdir() if f'"parts/{part.name}"' not in texts] == []


def test_the_frames_wanted_are_those_of_charts_and_sections():
    assert frames(sections([REPORTS])) == (
        "strongest_minute",
        "prompt_lengths",
        "latency_course",
        "long_context_course",
        "cache_course",
        "dram_course",
        "replay_course",
        "engine_state",
        "clock_offset",
        "attribute_names",
        "rejects",
        "thresholds",
        "methods",
    )


@pytest.mark.parametrize(
    ("group", "place"),
    [
        ("kind", ("$defs", "kind", "enum")),
        ("quality", ("properties", "quality", "items", "properties", "status", "enum")),
        (
            "mitigation",
            ("$defs", "incident", "properties", "mitigation", "items", "properties", "status", "enum"),
        ),
    ],
)
def test_every_key_of_the_contract_has_a_word(group, place):
    schema = orjson.loads((REPORTS / "report.schema.json").read_bytes())
    for key in place:
        schema = schema[key]
    assert sorted(words([REPORTS])[group]) == sorted(schema)


def test_no_two_verdicts_share_a_word_but_those_that_mean_the_same():
    told = words([REPORTS])
    assert len(set(told["verdict"].values())) == len(told["verdict"])


def test_a_folder_of_one_s_own_goes_first_word_by_word(tmp_path):
    (tmp_path / "words.yaml").write_text("verdict: {likely: probably}\n", encoding="utf-8")
    told = words([tmp_path, REPORTS])["verdict"]
    assert (told["likely"], told["possible"]) == ("probably", "possible")


def test_a_section_of_one_s_own_replaces_the_product_s(tmp_path):
    (tmp_path / "page.css").write_text("", encoding="utf-8")
    assert found([tmp_path, REPORTS], "page.css") == tmp_path / "page.css"


def test_a_file_that_no_folder_has_is_named(tmp_path):
    with pytest.raises(DefinitionError, match=r"the report's page\.js is missing"):
        found([tmp_path], "page.js")


def test_a_word_that_yaml_reads_as_a_truth_value_is_refused(tmp_path):
    (tmp_path / "words.yaml").write_text("quality: {ok: yes}\n", encoding="utf-8")
    with pytest.raises(DefinitionError, match="the words of 'quality' are no texts"):
        words([tmp_path])


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        ("sections: [text]", "postmortem.yaml declares 'a section' wrongly", "'text' is no mapping"),
        (
            "sections: [{section: a, titel: A, for: report}]",
            "postmortem.yaml declares 'a' wrongly",
            "nobody reads 'titel'",
        ),
        (
            "sections: [{section: a, title: A}]",
            "postmortem.yaml declares 'a' wrongly",
            "'for' is missing",
        ),
        (
            "sections: [{section: a, title: A, for: report, frames: rejects}]",
            "postmortem.yaml declares 'a' wrongly",
            "'frames' is 'rejects'",
        ),
        (
            "sections: [{section: a, title: A, for: service}]",
            "section 'a' is for 'service'",
            "a section stands once in the report, or once for every incident; a chart shows an incident",
        ),
        (
            "sections: [{section: a, title: A, for: incident, chart: {over: minute}}]",
            "postmortem.yaml declares 'a section' wrongly",
            "'panels' is missing",
        ),
    ],
)
def test_a_wrong_declaration_is_named(tmp_path, text, what, why):
    assert complaint(tmp_path, text) == (what, why)

"""What people write in a report stays, to the byte; what is odd about it is told; and it runs nothing."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracemortem.errors import InputError
from tracemortem.report import yours
from tracemortem.report.render import write
from tracemortem.report.yours import Place

INCIDENT = "20260311T0217Z-clause-desk"
LESSONS = Place("lessons", INCIDENT)
ABOUT = Place("about", "report")
REPORT = (
    f"# clause-desk slowed down\n\n## Lessons learned\n\n{yours.place('lessons', INCIDENT, 'Lucky?')}\n\n"
    f"## Authors and status\n\n{yours.place('about', 'report', '')}\n"
)
NESTED = "a place begins in that of line 1, which has no <!-- /yours -->"
HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(2)> [y](javascript:alert(3)) ![z](https://e.example/z)\n"
    "\n```\nnever closed \x00\u202e <b>\n"
)


@pytest.fixture
def made(tmp_path):
    """Writes a report over the one that stands there, as a run does, and hands out Markdown and HTML."""

    def makes(told) -> tuple[str, str]:
        path = tmp_path / "report.md"
        before = path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""
        write(
            told.diagnosis,
            told.rows,
            tmp_path,
            product_version="0.1.0",
            created_at=datetime(2026, 3, 11, 8, 0, tzinfo=UTC),
            written=yours.read(before, str(path)),
        )
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        return text, (tmp_path / "report.html").read_text("utf-8")

    return makes


@pytest.fixture
def edited(made, tmp_path):
    """A report in whose lessons somebody wrote something; hands out both forms of the report made anew."""

    def edits(told, words: str, then=None) -> tuple[str, str]:
        text, _ = made(told)
        (tmp_path / "report.md").write_bytes(
            yours.filled(text, {LESSONS: words}).encode("utf-8", "surrogateescape")
        )
        return made(then or told)

    return edits


def moved(told, minutes: int):
    """The same incident, found so much later."""
    incident = told.diagnosis.incidents[0]
    start = incident.start + timedelta(minutes=minutes)
    return told.with_incident(start=start, id=f"{start:%Y%m%dT%H%MZ}-{incident.service}")


def test_a_new_report_has_the_sections_of_a_postmortem_and_places_in_them(told, made):
    text, _ = made(told)
    titles = re.findall("^## (.*)$", text, re.MULTILINE)
    wanted = ["Summary", "Impact", "Root causes", "Trigger", "Detection", "Resolution", "Action items"]
    wanted += ["Lessons learned", "Timeline"]
    assert [title for title in titles if title in wanted] == wanted
    names = ["impact", "trigger", "detection", "resolution", "actions", "lessons", "timeline"]
    assert list(yours.read(text, "report.md")) == [*(Place(name, INCIDENT) for name in names), ABOUT]


def test_words_are_kept_to_the_byte_and_shown_in_the_page(told, edited):
    words = "\nWe were *lucky*.  \r\n\n\tA\udcfftab, and a line end missing: \x0b"
    text, page = edited(told, f"{words}\n")
    assert yours.read(text, "report.md")[LESSONS] == f"{words}\n"
    assert "<p>We were <em>lucky</em>." in page


def test_words_follow_an_incident_whose_start_moved_a_little(told, edited):
    text, _ = edited(told, "Lucky.\n", moved(told, 4))
    assert yours.read(text, "report.md")[Place("lessons", "20260311T0221Z-clause-desk")] == "Lucky.\n"
    assert "without a place" not in text


def test_words_of_an_incident_that_vanished_stand_at_the_end_until_it_is_back(told, edited, made):
    gone = replace(told, diagnosis=replace(told.diagnosis, incidents=told.diagnosis.incidents[1:]))
    text, page = edited(told, "Lucky.\n", gone)
    assert text.split("## Written before, without a place now\n")[1].endswith(
        f"{INCIDENT}, lessons\n\n<!-- yours: lessons {INCIDENT} -->\nLucky.\n<!-- /yours -->\n"
    )
    assert "<p>Lucky.</p>" in page
    again, _ = made(gone)
    back, _ = made(told)
    assert (again, "without a place" in back) == (text, False)
    assert yours.read(back, "report.md")[LESSONS] == "Lucky.\n"


def test_words_of_two_incidents_that_became_one_are_both_kept():
    told = [Place("lessons", f"20260311T02{minute}Z-clause-desk") for minute in ("15", "16")]
    words = {told[0]: "one\n", told[1]: "other\n"}

    class Now:
        id, service, start, end = INCIDENT, "clause-desk", datetime(2026, 3, 11, 2, 17, tzinfo=UTC), None

    assert yours.at_home(words, [Now]) == words


def test_nothing_that_people_wrote_runs_or_reaches_out(told, edited):
    text, page = edited(told, HOSTILE)
    assert yours.read(text, "report.md")[LESSONS] == HOSTILE
    theirs = page.split('<div class="yours">')[1].split("</div>")[0]
    assert set(re.findall(r"<[^>]*>", theirs)) == {
        "<p>", "</p>", "<pre>", "</pre>", "<code>", "</code>", '<a href="https://e.example/z">', "</a>"
    }  # fmt: skip
    assert "⟨U+0000⟩⟨U+202E⟩ &lt;b&gt;" in theirs
    assert '<section class="timeline">' in page  # what was left open in a place ends with it


def test_headings_that_people_write_stand_below_their_section(told, edited):
    assert '<h3 id="big">Big</h3>' in edited(told, "# Big\n")[1]


def test_an_empty_place_says_in_the_page_what_might_be_written(told, made):
    assert '<p class="yours">What went well? What went badly? Where were you lucky?</p>' in made(told)[1]


def test_a_service_with_any_name_has_places(hostile, made):
    text, _ = made(hostile)
    assert made(hostile)[0] == text


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("<!-- yours: a b -->\nx\n", 1, "the place that begins here has no <!-- /yours -->"),
        ("x\n<!-- /yours -->\n", 2, "<!-- /yours --> ends a place that nothing began"),
        ("<!-- yours: a b -->\n<!-- yours: c d -->\n", 2, NESTED),
        ("<!-- yours: a b -->\n<!-- /yours -->\n" * 2, 3, "the same place stands in line 1 already"),
        ("<!-- yours -->\n<!-- /yours -->\n", 1, "'<!-- yours -->' is no whole mark"),
        ("<!-- yours: a b --> words\n", 1, "'<!-- yours: a b --> words' is no whole mark"),
        ("<!-- yours: a b -->\nx\n<!--/yours-->\n", 3, "'<!--/yours-->' is no whole mark"),
    ],
)  # fmt: skip
def test_damaged_marks_are_told_with_their_line(text, line, why):
    with pytest.raises(InputError) as caught:
        yours.read(text, "out/report.md")
    assert (caught.value.where, caught.value.why) == (f"out/report.md, line {line}", why)


def test_a_mark_within_a_line_is_no_mark():
    assert yours.read("Write between `<!-- yours: a b -->` and `<!-- /yours -->`.\n", "report.md") == {}


@pytest.mark.parametrize(
    ("change", "is_changed"),
    [
        (lambda text: text, False),
        (lambda text: text.replace("\n", "\r\n"), False),
        (lambda text: "\ufeff" + text.replace("\n\n", "\n\n\n"), False),
        (lambda text: text.replace("slowed down", "was slow"), True),
        (lambda text: text.replace("fingerprint", "print"), True),
        (lambda text: text.replace("## Lessons learned", "## Lessons\n\nSee the wiki."), True),
    ],
)
def test_a_change_outside_of_the_places_is_seen(change, is_changed):
    text = yours.filled(yours.sealed(REPORT), {LESSONS: "Lucky.\n"})
    assert yours.is_changed(change(text)) is is_changed


def has_no_mark(words: str) -> bool:
    return not any(
        re.match(r"<!--\s*/?\s*yours\b", line.strip(), re.IGNORECASE) for line in words.split("\n")
    )


ODD = st.sampled_from(["<!--", "-->", "yours", " ", "\n", "\r\n", "# x", "```", "| a |\n|---|\n", "x"])
WRITTEN = (
    (st.text(st.characters(codec=None)) | st.lists(ODD).map("".join))
    .map(lambda words: f"{words}\n")
    .filter(has_no_mark)
)


@given(WRITTEN, WRITTEN)
def test_whatever_is_written_survives_and_changes_nothing_else(lessons, about):
    words = {LESSONS: lessons, ABOUT: about}
    once = yours.filled(yours.sealed(REPORT), words)
    assert yours.read(once, "report.md") == words
    assert yours.filled(yours.sealed(REPORT), yours.read(once, "report.md")) == once
    assert not yours.is_changed(once)

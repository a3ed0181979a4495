"""Templates: a company's own go first, and a faulty one is named with what is wrong."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tracemortem.errors import DefinitionError
from tracemortem.report.render import write


@pytest.fixture
def with_causes_told_by(told, tmp_path: Path):
    """Writes a report whose section on causes has another template, and hands out its Markdown."""

    def writes(template: str) -> str:
        mine = tmp_path / "mine" / "sections"
        mine.mkdir(parents=True)
        (mine / "causes.md.j2").write_text(template, encoding="utf-8")
        made = datetime(2026, 3, 11, 8, 0, tzinfo=UTC)
        _, markdown, _ = write(
            told.diagnosis,
            told.rows,
            tmp_path,
            product_version="0.1.0",
            created_at=made,
            templates=[mine.parent],
        )
        return markdown.read_text(encoding="utf-8")

    return writes


def test_a_template_of_one_s_own_is_used(with_causes_told_by):
    markdown = with_causes_told_by("See the wiki of {{ incident.service }}.")
    assert "## Root causes\n\nSee the wiki of clause-desk.\n\n## Trigger" in markdown


def test_a_section_that_comes_out_blank_is_left_out(with_causes_told_by):
    assert "## Root causes" not in with_causes_told_by("{% if false %}x{% endif %}\n")


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (
            "{{ incident.servise }}",
            "UndefinedError: 'tracemortem.incident.Incident object' has no attribute 'servise'",
        ),
        ("{{ incident.peak }}", "TemplateRuntimeError: a float needs a filter that says how it reads"),
        ("{{ incident.start }}", "TemplateRuntimeError: a datetime needs a filter that says how it reads"),
        ("{{ incident.causes }}", "TemplateRuntimeError: a tuple needs a filter that says how it reads"),
        ("{% if %}", "TemplateSyntaxError: Expected an expression, got 'end of statement block'"),
        (
            "{{ ''.__class__.__mro__ }}",
            "SecurityError: access to attribute '__class__' of 'str' object is unsafe.",
        ),
    ],
)
def test_a_faulty_template_is_named(with_causes_told_by, template, why):
    with pytest.raises(DefinitionError) as caught:
        with_causes_told_by(template)
    assert (caught.value.what, caught.value.why) == (
        "the template sections/causes.md.j2 cannot be used",
        why,
    )

"""How does a section's template become Markdown? In a sandbox, where every value is escaped."""

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from jinja2 import (
    FileSystemLoader,
    StrictUndefined,
    TemplateError,
    TemplateRuntimeError,
    TemplateSyntaxError,
    Undefined,
)
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tracemortem.errors import DefinitionError
from tracemortem.incident import Incident
from tracemortem.report import escaping, quantities, yours
from tracemortem.report.escaping import Markdown

Words = Mapping[str, Mapping[str, str]]
Known = TypeVar("Known")


def environment(
    folders: Iterable[Path], words: Words, *, zone: str, headings: Mapping[str, str]
) -> ImmutableSandboxedEnvironment:
    """The templates of the folders, earlier ones first, with our filters.

    zone      an IANA time zone: the clock of the people who read
    headings  name or text of SQL -> the heading under which the report shows it

    A value put out by a template is escaped, and None is said in words; a bare float or instant is refused,
    since a filter has to say how it reads. What the filters for code and links give is Markdown already.
    """
    made = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader([str(folder) for folder in folders]),
        undefined=StrictUndefined,
        finalize=lambda value: _put_out(value, words),
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # HTML is made later, from the Markdown: here Markdown is what must not be injected
    )
    made.filters |= {
        "quantity": lambda value, unit, beside=None: _quantity(value, unit, beside, words),
        "span": lambda seconds: _known(seconds, words, lambda known: quantities.span(known, words["unit"])),
        "instant": lambda at: _known(at, words, quantities.instant),
        "clock": lambda at: _known(at, words, quantities.clock),
        "day_of": lambda day: f"{day:%Y-%m-%d}",
        "month_of": lambda day: f"{day:%Y-%m}",
        "local": lambda at: _known(at, words, lambda known: quantities.local(known, zone)),
        "interval": quantities.interval,
        "seconds_to": lambda start, end: (end - start).total_seconds(),
        "sentence": lambda text: text[:1].upper() + text[1:],
        "code": lambda text: _known(text, words, escaping.code),
        "code_cell": lambda text: _known(text, words, escaping.code_cell),
        "fenced": escaping.fenced,
        "link": _link,
        "source": lambda fact: _link(fact.id, headings[fact.sql]) if fact.sql else fact.id,
        "yours": lambda name, incident=None: _place(name, incident, words),
        "word": lambda key, group: words[group].get(key, key.replace("_", " ")),
    }
    return made


def rendered(templates: ImmutableSandboxedEnvironment, name: str, context: Mapping[str, object]) -> str:
    """One template as Markdown, without blank lines around it.

    raises   DefinitionError with file and line, if the template is faulty
    """
    try:
        return templates.get_template(name).render(context).strip()
    except TemplateError as error:
        line = f", line {error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
        raise DefinitionError(
            f"the template {name} cannot be used",
            where=f"{name}{line}",
            why=f"{type(error).__name__}: {error}",
            fix="correct the template; those beside it show which values and filters there are",
        ) from error


def _put_out(value: object, words: Words) -> object:
    match value:
        case Markdown():
            return value
        case str():
            return escaping.escaped(value)
        case None:
            return words["page"]["not_known"]
        case int() if not isinstance(value, bool):
            return f"{value:,}"
        case Undefined():
            return str(value)  # raises, with the name that is not defined
    raise TemplateRuntimeError(f"a {type(value).__name__} needs a filter that says how it reads")


def _link(text: str, heading: str) -> Markdown:
    return Markdown(f"[{escaping.escaped(text)}](#{escaping.anchor(heading)})")


def _place(name: str, incident: Incident | None, words: Words) -> Markdown:
    """A place for people, of an incident or of the whole report."""
    try:
        return yours.place(name, incident.id if incident else yours.REPORT, words["yours"].get(name, ""))
    except ValueError as error:
        raise TemplateRuntimeError(str(error)) from error


def _quantity(value: float | None, unit: str, beside: float | None, words: Words) -> str:
    if value is None or not math.isfinite(value):
        return words["page"]["not_known"]
    return quantities.quantity(float(value), unit, words["unit"], beside=beside)


def _known(value: Known | None, words: Words, said: Callable[[Known], str]) -> str:
    return words["page"]["not_known"] if value is None else said(value)

"""What does a diagnosis look like to people and programs? report.json, report.md and report.html."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from types import MappingProxyType

import polars as pl
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tracemortem.folders import folder
from tracemortem.incident import Diagnosis, Incident
from tracemortem.report import yours
from tracemortem.report.charts import figure
from tracemortem.report.course import Course, course, digest, rows_of
from tracemortem.report.document import checked, document, encoded
from tracemortem.report.drawing import drawing
from tracemortem.report.escaping import Markdown, escaped
from tracemortem.report.pages import Part, markdown, page
from tracemortem.report.policies import policies
from tracemortem.report.prose import environment, rendered
from tracemortem.report.put import put
from tracemortem.report.queries import queries
from tracemortem.report.remedies import remedies
from tracemortem.report.sections import Section, sections, words

_MOST_ROWS = 200  # of a frame, in a page for people; the DuckDB file has all


@dataclass(frozen=True)
class Shown:
    """The first rows of a frame, and how many it has."""

    first: Sequence[Mapping[str, object]]
    height: int


@dataclass(frozen=True)
class _Book:
    """What every part of one report is made from."""

    diagnosis: Diagnosis
    rows: Mapping[str, pl.DataFrame]
    words: Mapping[str, Mapping[str, str]]
    templates: ImmutableSandboxedEnvironment
    context: Mapping[str, object]


def write(
    diagnosis: Diagnosis,
    rows: Mapping[str, pl.DataFrame],
    out: Path,
    *,
    product_version: str,
    created_at: datetime,
    templates: Sequence[Path] = (),
    written: yours.Words = MappingProxyType({}),
) -> list[Path]:
    """Write report.json, report.md and report.html into the folder `out`, which is made if need be.

    rows       frame name -> rows, for every frame postmortem.yaml names (`sections.frames` lists them); a
               column incident_id says whose rows they are
    templates  folders whose files go before the product's own: other words, other sections, another style
    written    what people wrote in the places of the report that stood there before
    returns    the three paths
    raises     DefinitionError for a faulty template or declaration, or a missing frame or column

    Nothing is written before everything is made, each file is replaced in one step, and the same arguments
    give the same bytes.
    """
    folders = (*templates, folder("reports"))
    report = checked(document(diagnosis, product_version=product_version, created_at=created_at))
    language = words(folders)
    parts = _made(diagnosis, rows, folders, product_version, created_at)
    theirs = yours.at_home(written, _with_status(diagnosis, "confirmed"))
    parts.extend(_homeless(parts, theirs, language))
    text = markdown(parts)
    yours.read(text, "the report, by its templates")  # a place that stands twice would lose what is in one
    files = {
        "report.json": encoded(report),
        "report.md": yours.filled(yours.sealed(text), theirs).encode("utf-8", "surrogateescape"),
        "report.html": page(parts, folders, words=language, written=theirs).encode(),
    }
    out.mkdir(parents=True, exist_ok=True)
    put(files, out)
    return [out / name for name in files]


def html(
    diagnosis: Diagnosis,
    rows: Mapping[str, pl.DataFrame],
    *,
    product_version: str,
    created_at: datetime,
    home: str,
) -> bytes:
    """The same page alone, with a link to the page that lists it; home: where that lies, relative."""
    folders = (folder("reports"),)
    parts = _made(diagnosis, rows, folders, product_version, created_at)
    return page(parts, folders, words=words(folders), written={}, home=home).encode()


def _made(
    diagnosis: Diagnosis,
    rows: Mapping[str, pl.DataFrame],
    folders: Sequence[Path],
    product_version: str,
    created_at: datetime,
) -> list[Part]:
    """Every part of the report, in the order in which it is read."""
    language = words(folders)
    shown, headings = queries(diagnosis, rows_of(rows, "methods", None))
    book = _Book(
        diagnosis=diagnosis,
        rows=rows,
        words=language,
        templates=environment(folders, language, zone=diagnosis.timezone, headings=headings),
        context={
            "diagnosis": diagnosis,
            "confirmed": _with_status(diagnosis, "confirmed"),
            "candidates": _with_status(diagnosis, "candidate"),
            "queries": shown,
            "product_version": product_version,
            "created_at": created_at,
        },
    )
    return list(_parts(book, sections(folders)))


def _with_status(diagnosis: Diagnosis, status: str) -> list[Incident]:
    return [incident for incident in diagnosis.incidents if incident.status == status]


def _parts(book: _Book, declared: Iterable[Section]) -> Iterator[Part]:
    """One confirmed incident is what the report is about; of several, each is a chapter."""
    confirmed = _with_status(book.diagnosis, "confirmed")
    is_single = len(confirmed) == 1
    yield _headline(book, confirmed[0] if is_single else None, level=1)
    for is_per_incident, together in groupby(declared, key=lambda section: section.is_per_incident):
        group = tuple(together)
        if not is_per_incident:
            yield from _chapter(book, group, None, level=2)
            continue
        for incident in confirmed:
            if not is_single:
                yield _headline(book, incident, level=2)
            yield from _chapter(book, group, incident, level=2 if is_single else 3)


def _headline(book: _Book, incident: Incident | None, *, level: int) -> Part:
    name = "incident_title.md.j2" if incident else "title.md.j2"
    title = rendered(book.templates, name, {**book.context, "incident": incident})
    return Part(name="headline", level=level, title=title, text="")


def _chapter(
    book: _Book, group: Iterable[Section], incident: Incident | None, *, level: int
) -> Iterator[Part]:
    """The sections that have something to say."""
    offered = remedies(incident) if incident else {}
    for section in group:
        drawn = course(section.chart, incident, book.rows) if section.chart and incident else None
        context = {
            **book.context,
            "incident": incident,
            "rows": {name: _shown(rows_of(book.rows, name, incident)) for name in section.frames},
            "signals": digest(drawn, incident) if drawn and incident else (),
            "sub": Markdown("#" * (level + 1)),
            "remedies": offered,
        }
        text = rendered(book.templates, section.template, context)
        if text:
            yield Part(
                name=section.name,
                level=level,
                title=section.title,
                text=text,
                is_folded=section.is_folded,
                figure=figure(drawn, book.words).to_json() if drawn else None,
                picture=_picture(book, section, incident, drawn),
            )


def _homeless(
    parts: Iterable[Part], written: yours.Words, words: Mapping[str, Mapping[str, str]]
) -> Iterator[Part]:
    """Words for which this report has no place, as its last section; in places, so that they may go home."""
    there = {piece.place for part in parts for piece in yours.pieces(part.text, part.name)}
    left = sorted(place for place, text in written.items() if text.strip() and place not in there)
    if left:
        told = (f"{escaped(f'{of}, {name}')}\n\n{yours.place(name, of, '')}" for name, of in left)
        text = "\n\n".join((words["page"]["homeless_why"], *told))
        yield Part(name="homeless", level=2, title=words["page"]["homeless"], text=text)


def _picture(book: _Book, section: Section, incident: Incident | None, drawn: Course | None) -> str:
    if section.picture == "policies" and incident:
        return policies(incident, book.words)
    return drawing(drawn, book.words) if drawn else ""


def _shown(frame: pl.DataFrame) -> Shown:
    return Shown(frame.head(_MOST_ROWS).to_dicts(), frame.height)

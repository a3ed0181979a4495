"""Which words of a report are people's, and how do they stay when it is made anew?

report.md has places for people: the lines between `<!-- yours: lessons 20260424T0217Z-chat ... -->` and
`<!-- /yours -->`. Comments are the one form that GitHub, Markdown editors and pandoc all keep and none of
them shows. What stands in a place belongs to people and is carried over to the byte. All else is made anew; a
fingerprint of it, in a comment below the title, tells whether somebody changed it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote

from tracemortem.errors import InputError
from tracemortem.incident import Annotation, Incident, named_by
from tracemortem.report.escaping import Markdown, visible

REPORT = "report"  # whose a place is that stands once in a report

_OPEN = re.compile(r"<!-- yours: (\w+) (\S+)(?: (.*))? -->", re.ASCII)
_SHUT = "<!-- /yours -->"
_MARK = re.compile(r"<!--\s*/?\s*yours\b", re.IGNORECASE)  # a mark, or what was one
_SEAL = re.compile(r"<!-- tracemortem: .* fingerprint ([0-9a-f]{16}) -->")
_JOINERS = re.compile("([\u200c\u200d])")  # which several scripts and many emoji are written with

Words = Mapping["Place", str]


class Place(NamedTuple):
    """One place for people. of: the id of an incident, or REPORT."""

    name: str
    of: str


class Piece(NamedTuple):
    """A stretch of Markdown: of the product's where place is None, else what stands in that place."""

    place: Place | None
    text: str
    prompt: str = ""


def place(name: str, of: str, prompt: str) -> Markdown:
    """An empty place as Markdown. prompt: what people may write there, one line.

    raises   ValueError if the name has other characters than letters, digits and _
    """
    if not re.fullmatch(r"\w+", name, re.ASCII):
        raise ValueError(f"{name!r} names no place: letters, digits and _ do")
    key = quote(of, safe="").replace("--", "-%2D")  # what no service's name can end
    asked = re.sub("-{2,}", "-", visible(prompt)).replace(">", "")
    return Markdown(f"<!-- yours: {name} {key}{f' {asked}' if asked else ''} -->\n\n{_SHUT}")


def pieces(text: str, where: str) -> Iterator[Piece]:
    """The text, cut at the marks; their own lines are left out.

    where    the file, for messages
    raises   InputError with the line, where marks are damaged, nested or repeated
    """
    seen: dict[Place, int] = {}
    inside: tuple[Place, str, int] | None = None
    lines: list[str] = []
    for number, line in enumerate(_lines(text), 1):
        mark = line.strip()
        if not _MARK.match(mark):
            lines.append(line)
            continue
        found = _OPEN.fullmatch(mark)
        if found is None and mark != _SHUT:
            raise _damaged(where, number, f"{mark[:60]!r} is no whole mark")
        if found is None and inside is None:
            raise _damaged(where, number, f"{_SHUT} ends a place that nothing began")
        if found and inside:
            raise _damaged(where, number, f"a place begins in that of line {inside[2]}, which has no {_SHUT}")
        if inside is not None:
            yield Piece(inside[0], "".join(lines), inside[1])
            inside = None
        elif found:
            yield Piece(None, "".join(lines))
            new = Place(found[1], unquote(found[2]))
            if new in seen:
                raise _damaged(where, number, f"the same place stands in line {seen[new]} already")
            seen[new] = number
            inside = new, found[3] or "", number
        lines = []
    if inside is not None:
        raise _damaged(where, inside[2], f"the place that begins here has no {_SHUT}")
    yield Piece(None, "".join(lines))


def read(text: str, where: str) -> dict[Place, str]:
    """What stands in each place of a report, to the byte; raises InputError as `pieces` does."""
    return {piece.place: piece.text for piece in pieces(text, where) if piece.place is not None}


def filled(text: str, words: Words) -> str:
    """The same Markdown with the words in those of its places that have some."""
    made: list[str] = []
    is_ours = True
    for line in _lines(text):
        mark = line.strip()
        is_ours = is_ours or mark == _SHUT
        if is_ours:
            made.append(line)
        if found := _OPEN.fullmatch(mark):
            theirs = words.get(Place(found[1], unquote(found[2])))
            is_ours = theirs is None
            made.append(theirs or "")
    return "".join(made)


def at_home(words: Words, incidents: Iterable[Incident]) -> dict[Place, str]:
    """The same words; those of an incident whose start has moved go with it, as its annotations do."""
    now = tuple(incidents)
    told = {each.of for each in words}
    heirs: dict[str, str] = {}
    for old in sorted(told - {incident.id for incident in now}):
        meant = [incident.id for incident in now if incident.id not in told and _is_meant(old, incident)]
        if len(meant) == 1:
            heirs[old] = meant[0]
    shared = {heir for heir, times in Counter(heirs.values()).items() if times > 1}
    moved = {old: heir for old, heir in heirs.items() if heir not in shared}
    return {Place(each.name, moved.get(each.of, each.of)): text for each, text in words.items()}


def sealed(text: str) -> str:
    """The report with the comment that tells people where to write, and later runs what was theirs."""
    title, _, rest = text.partition("\n")
    told = "what you write between the lines `yours` and `/yours` is kept when this report is made anew"
    seal = f"<!-- tracemortem: {told}; text elsewhere is not. fingerprint {_fingerprint(text)} -->"
    return f"{title}\n\n{seal}\n{rest}"


def is_changed(text: str) -> bool:
    """Whether somebody changed a report outside of its places, or it never had a seal.

    Line ends, blanks at the ends of lines and blank lines, which editors change by themselves, do not count.
    """
    seals = [seal[1] for line in _outside(text) if (seal := _SEAL.fullmatch(line))]
    return seals != [_fingerprint(text)]


def shown(words: str) -> str:
    """People's words with nothing hidden in them, for a page."""
    return "\n".join(
        "".join(part if _JOINERS.match(part) else visible(part) for part in _JOINERS.split(line.rstrip("\r")))
        for line in words.expandtabs(4).split("\n")
    )


def _lines(text: str) -> list[str]:
    """Lines with their ends; str.splitlines would cut at characters that are no ends in Markdown."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _outside(text: str) -> list[str]:
    """The lines of a report that are the product's, without those that are blank."""
    found: list[str] = []
    is_inside = False
    for line in (line.strip("\ufeff").rstrip() for line in _lines(text)):
        is_inside = is_inside and line.strip() != _SHUT
        if line and not is_inside:
            found.append(line)
        is_inside = is_inside or _OPEN.fullmatch(line.strip()) is not None
    return found


def _fingerprint(text: str) -> str:
    told = "\n".join(line for line in _outside(text) if not _SEAL.fullmatch(line))
    return hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _is_meant(incident_id: str, incident: Incident) -> bool:
    named = named_by(incident_id)
    if named is None:
        return False
    start, service = named
    return Annotation(incident_id, service, start, None, None, None, None, "").fits(
        incident.service, incident.start, incident.end
    )


def _damaged(where: str, line: int, why: str) -> InputError:
    return InputError(
        "the marks of a place for people are damaged",
        where=f"{where}, line {line}",
        why=why,
        fix=(
            "put each place between one line <!-- yours: NAME INCIDENT --> and one line <!-- /yours -->, and "
            "the words on lines between them; or move the file elsewhere, and a new one is made. "
            "Nothing was overwritten"
        ),
    )

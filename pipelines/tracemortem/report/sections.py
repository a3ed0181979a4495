"""Which sections has a report, in what order, and what does each of them need?

postmortem.yaml says it, and daily.yaml of the report of a day. A folder that comes earlier hides the same
file of a later one, so a company's own templates, or another language, are a folder with only the files that
differ.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracemortem.declared import load, parsed
from tracemortem.errors import DefinitionError

PICTURES = ("policies",)
_KEYS = {
    "section": str,
    "title": str,
    "for": str,
    "frames": list,
    "chart": dict,
    "picture": str,
    "folded": bool,
}
_CHART_KEYS = {"over": str, "panels": list}
_PANEL_KEYS = {"title": str, "frame": str, "unit": str, "lines": dict, "baseline": bool, "height": int}


@dataclass(frozen=True)
class Panel:
    """One strip of a chart. lines: column -> its name in the legend, the main one first.

    unit          of every line: s, ratio, count, MHz ...
    has_baseline  the incident's baseline is drawn as a level line
    height        relative to the other panels
    """

    title: str
    frame: str
    unit: str
    lines: Mapping[str, str]
    has_baseline: bool
    height: int


@dataclass(frozen=True)
class Chart:
    """Panels above each other on one time axis. over: the column that holds the time."""

    over: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Section:
    """One section. is_per_incident: repeated for every confirmed incident. is_folded: closed at first.

    picture   one of PICTURES, drawn of the incident itself; None: none
    """

    name: str
    title: str
    is_per_incident: bool
    frames: tuple[str, ...]
    chart: Chart | None
    picture: str | None
    is_folded: bool

    @property
    def template(self) -> str:
        return f"sections/{self.name}.md.j2"


def sections(folders: Iterable[Path], declared: str = "postmortem.yaml") -> tuple[Section, ...]:
    """The sections of the first such file in the folders, in the order in which they are read.

    declared  postmortem.yaml, or daily.yaml for the report of a day
    raises   DefinitionError with the file and the key
    """
    path = found(folders, declared)
    entries = load(path, known={"sections"}, required={"sections"})["sections"]
    return tuple(_section(_held(entry, _KEYS, {"section", "title", "for"}, path), path) for entry in entries)


def frames(declared: Iterable[Section]) -> tuple[str, ...]:
    """The names of all frames that the sections need, each once: the SQL that has to be run."""
    wanted: dict[str, None] = {}
    for section in declared:
        wanted |= dict.fromkeys(section.frames)
        wanted |= dict.fromkeys(panel.frame for panel in (section.chart.panels if section.chart else ()))
    return tuple(wanted)


def words(folders: Iterable[Path]) -> dict[str, dict[str, str]]:
    """The words of the report's language by group: verdicts, kinds of cause, units ...

    Those of an earlier folder's words.yaml go over those of a later one, word by word.
    """
    merged: dict[str, dict[str, str]] = {}
    for path in reversed([folder / "words.yaml" for folder in folders]):
        for group, entries in _words_of(path).items() if path.is_file() else ():
            merged.setdefault(group, {}).update(entries)
    return merged


def found(folders: Iterable[Path], name: str) -> Path:
    """The file in the first folder that has it.

    raises   DefinitionError if none does
    """
    tried = [folder / name for folder in folders]
    for candidate in tried:
        if candidate.is_file():
            return candidate
    raise DefinitionError(
        f"the report's {name} is missing",
        where=", ".join(str(folder) for folder in tried),
        why="no folder of templates has it",
        fix="copy it from the reports/ folder that travels with the product",
    )


def _words_of(path: Path) -> dict[str, dict[str, str]]:
    table = parsed(path)
    for group, entries in table.items():
        if not isinstance(entries, dict) or not all(isinstance(word, str) for word in entries.values()):
            raise DefinitionError(
                f"the words of {group!r} are no texts",
                where=str(path),
                why="each group is a mapping of a key to a text",
                fix="put the word in quotation marks, if it is yes, no or a number",
            )
    return {group: dict(entries) for group, entries in table.items()}


def _section(entry: Mapping[str, Any], path: Path) -> Section:
    if entry["for"] not in {"report", "incident"} or ("chart" in entry and entry["for"] == "report"):
        raise DefinitionError(
            f"section {entry['section']!r} is for {entry['for']!r}",
            where=str(path),
            why="a section stands once in the report, or once for every incident; a chart shows an incident",
            fix="write `for: report` or `for: incident`, the latter with a chart",
        )
    if entry.get("picture", PICTURES[0]) not in PICTURES or ("picture" in entry and entry["for"] == "report"):
        raise DefinitionError(
            f"section {entry['section']!r} has the picture {entry['picture']!r}",
            where=str(path),
            why="a picture shows an incident, and is one of those that the product draws",
            fix=f"write `for: incident`, and one of {', '.join(PICTURES)}",
        )
    return Section(
        name=entry["section"],
        title=entry["title"],
        is_per_incident=entry["for"] == "incident",
        frames=tuple(entry.get("frames", ())),
        chart=_chart(entry["chart"], path) if "chart" in entry else None,
        picture=entry.get("picture"),
        is_folded=entry.get("folded", False),
    )


def _chart(entry: object, path: Path) -> Chart:
    chart = _held(entry, _CHART_KEYS, set(_CHART_KEYS), path)
    panels = [
        _held(panel, _PANEL_KEYS, {"title", "frame", "unit", "lines"}, path) for panel in chart["panels"]
    ]
    return Chart(
        over=chart["over"],
        panels=tuple(
            Panel(
                title=panel["title"],
                frame=panel["frame"],
                unit=panel["unit"],
                lines=panel["lines"],
                has_baseline=panel.get("baseline", False),
                height=panel.get("height", 1),
            )
            for panel in panels
        ),
    )


def _held(entry: object, types: Mapping[str, type], required: set[str], path: Path) -> dict[str, Any]:
    """A mapping whose keys are all known, whose values have the right types, and that lacks nothing."""
    if not isinstance(entry, dict):
        why, fix = f"{entry!r} is no mapping", "write `key: value` lines"
    elif strange := [key for key in entry if key not in types]:
        why, fix = f"nobody reads {strange[0]!r}", f"known are {', '.join(sorted(types))}"
    elif missing := sorted(required - set(entry)):
        why, fix = f"{missing[0]!r} is missing", f"add `{missing[0]}:`"
    elif wrong := [key for key, value in entry.items() if not isinstance(value, types[key])]:
        why, fix = f"{wrong[0]!r} is {entry[wrong[0]]!r}", f"give it a {types[wrong[0]].__name__}"
    else:
        return entry
    name = entry.get("section") or entry.get("title") if isinstance(entry, dict) else None
    raise DefinitionError(
        f"{path.name} declares {name or 'a section'!r} wrongly", where=str(path), why=why, fix=fix
    )

"""nginx `log_format` directives -> text formats."""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tracemortem import declared, folders
from tracemortem.sources.lines import TextFormat
from tracemortem.sources.readings import Reading

_TOKEN = re.compile(
    r"""\s+ | \#[^\n]* | (?P<end>[;{}])
    | "(?P<double>(?:\\.|[^"\\])*)" | '(?P<single>(?:\\.|[^'\\])*)'
    | (?P<bare>(?:\\.|\$\{\w+\}|[^\s;{}])+)""",
    re.VERBOSE | re.DOTALL,
)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_ESCAPED = re.compile(r"""\\([trn"'\\])""")
_CONTROL = {"t": "\t", "r": "\r", "n": "\n"}
_META = re.compile(r"[\\.+*?()|\[\]{}^$]")
_QUOTED = r'(?:[^"\\]|\\.)*'


@dataclass(frozen=True)
class Directive:
    """One `log_format`: its name, how values are escaped (default, json or none), and its strings joined."""

    name: str
    escape: str
    body: str


def directives(text: str) -> list[Directive]:
    """Every log_format in an nginx configuration, in order. Whatever else stands there is passed over."""
    return [
        Directive(words[1], escape, "".join(words[2:]))
        for words, escape in _statements(text)
        if len(words) > 2 and words[0] == "log_format"
    ]


def compiled(directive: Directive) -> TextFormat | str:
    """The format that a directive writes, or a sentence saying why it is not read."""
    parts = _VARIABLE.split(directive.body)
    variables = [quoted or plain for quoted, plain in zip(parts[1::3], parts[2::3], strict=True)]
    literals = parts[0::3]
    readings = tuple(_readings(set(variables) - _run_together(variables, literals)))
    if not any(reading.to in {"started_at", "finished_at"} for reading in readings):
        return f"log_format {directive.name} writes no time: add $msec or $time_iso8601"
    wanted = {reading.group for reading in readings}
    pattern, is_quoted = "", False
    for number, name in enumerate(variables):
        literal, after = literals[number], literals[number + 1]
        is_quoted ^= literal.count('"') % 2 == 1
        shape = _shape(name, is_quoted, after)
        is_taken = name in wanted
        wanted.discard(name)  # a variable that stands twice is taken the first time
        pattern += exactly(literal) + (f"(?P<{name}>{shape})" if is_taken else f"(?:{shape})")
    # trailing blanks are lost on the way often enough
    pattern = f"^{pattern}{exactly(literals[-1].rstrip())}[ \\t]*$"
    return TextFormat(f"nginx:{directive.name}", f"nginx log_format {directive.name}", pattern, readings)


def _run_together(variables: list[str], literals: list[str]) -> set[str]:
    """Variables of any shape with nothing between them: where one ends and the next begins cannot be told."""
    together: set[str] = set()
    for number, pair in enumerate(itertools.pairwise(variables), start=1):
        if not literals[number] and not any("matches" in _known(name) for name in pair):
            together.update(pair)
    return together


def exactly(text: str) -> str:
    """The text as a pattern that matches it, in the common subset."""
    # not re.escape: it escapes blanks and quotes too, which not every engine of the common subset takes
    return _META.sub(r"\\\g<0>", text)


def _shape(name: str, is_quoted: bool, after: str) -> str:
    known = _known(name)
    if "matches" in known:
        return str(_table()["shapes"][known["matches"]])
    if is_quoted:
        return _QUOTED if after.startswith('"') else _QUOTED + "?"
    if after.startswith("]"):
        return r"[^\]]*"
    return ".*?"


def _known(name: str) -> Mapping[str, Any]:
    return _table()["variables"].get(name) or {}


def _readings(variables: set[str]) -> Iterator[Reading]:
    for name, known in _table()["variables"].items():
        if name in variables:
            for column, how in known.get("gives", {}).items():
                yield reading(column, name, how)


def reading(column: str, group: str, how: Mapping[str, Any]) -> Reading:
    """A reading as declared: keys extract, time, times, list, none, zone, minus, escape."""
    return Reading(
        column,
        group,
        how.get("extract"),
        how.get("time"),
        float(how.get("times", 1)),
        how.get("list"),
        tuple(how.get("none", ())),
        how.get("zone", ""),
        how.get("minus", ""),
        how.get("escape", "backslash"),
    )


def _statements(text: str) -> Iterator[tuple[list[str], str]]:
    words: list[str] = []
    escape = "default"
    position = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        if match["end"]:
            yield words, escape
            words, escape = [], "default"
            continue
        word = next((match[kind] for kind in ("double", "single", "bare") if match[kind] is not None), None)
        if word is None:
            continue
        if match["bare"] and len(words) == 2 and word.startswith("escape="):
            escape = word.removeprefix("escape=")
        else:
            words.append(_ESCAPED.sub(lambda found: _CONTROL.get(found[1], found[1]), word))


@cache
def _table() -> Mapping[str, Any]:
    path = folders.definitions("sources", "nginx_variables.yaml")
    table: Mapping[str, Any] = declared.parsed(path)
    return table

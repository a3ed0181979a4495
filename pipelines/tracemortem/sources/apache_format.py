"""Apache `LogFormat` directives -> text formats."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from tracemortem import declared, folders
from tracemortem.sources.lines import TextFormat
from tracemortem.sources.log_format import Directive, exactly, reading
from tracemortem.sources.readings import Reading

_DIRECTIVE = re.compile(
    r'^[ \t]*(?:LogFormat|CustomLog[ \t]+(?:"[^"]*"|\S+))[ \t]+'
    r'"(?P<body>(?:\\.|[^"\\])*)"[ \t]*(?P<name>\S*)',
    re.MULTILINE | re.IGNORECASE,
)
_FIELD = re.compile(r"%(?:[!0-9,]*)[<>]?(?:\{(?P<of>[^}]*)\})?(?P<letter>\^t[io]|[a-zA-Z]|%)")
_ESCAPED = re.compile(r'\\([tn"\\])')
_CONTROL = {"t": "\t", "n": "\n"}


def apache_directives(text: str) -> list[Directive]:
    """Every LogFormat in an Apache configuration, and every CustomLog with a format of its own, in order."""
    found = []
    for number, match in enumerate(_DIRECTIVE.finditer(text), start=1):
        name = match["name"]
        is_named = name and "=" not in name
        body = _ESCAPED.sub(lambda escape: _CONTROL.get(escape[1], escape[1]), match["body"])
        if "%" in body:
            found.append(Directive(name if is_named else str(number), "default", body))
    return found


def apache_compiled(directive: Directive) -> TextFormat | str:
    """The format that a LogFormat writes, or a sentence saying why it is not read."""
    pattern, readings, position = "", list[tuple[int, Reading]](), 0
    for number, match in enumerate(_FIELD.finditer(directive.body)):
        pattern += exactly(directive.body[position : match.start()])
        position = match.end()
        if match["letter"] == "%":
            pattern += "%"
            continue
        known = _known(match["of"], match["letter"])
        before, after = directive.body[: match.start()], directive.body[position : position + 1]
        shape = known.get("matches") or _shape(is_quoted=before.count('"') % 2 == 1, after=after)
        gives = [
            (rank, reading(column, f"f{number}", how)) for column, rank, how in known.get("gives_ranked", ())
        ]
        pattern += f"(?P<f{number}>{shape})" if gives else f"(?:{shape})"
        readings += gives
    pattern += exactly(directive.body[position:].rstrip())
    ordered = tuple(one for _, one in sorted(readings, key=lambda pair: pair[0]))
    if not any(one.to in {"started_at", "finished_at"} for one in ordered):
        return f"LogFormat {directive.name} writes no time that is read: add %t or %{{msec}}t"
    title = f"Apache LogFormat {directive.name}"
    return TextFormat(f"apache:{directive.name}", title, f"^{pattern}[ \\t]*$", ordered)


def _shape(*, is_quoted: bool, after: str) -> str:
    if is_quoted:
        return r'(?:[^"\\]|\\.)*' if after == '"' else r'(?:[^"\\]|\\.)*?'
    return r"[^\]]*" if after == "]" else ".*?"


def _known(of: str | None, letter: str) -> Mapping[str, Any]:
    """A directive as the table has it, with what it gives in the order of the table."""
    name = letter if of is None else f"{{{of}}}{letter}"
    if letter in {"i", "o", "e", "a"}:
        name = name.lower()
    table = _table()
    if name not in table and letter == "t" and of is not None:
        form = of.removeprefix("begin:").removeprefix("end:")
        column = "finished_at" if of.startswith("end:") else "started_at"
        zone = {} if "%z" in form else {"zone": "local"}
        return {"gives_ranked": [(column, 0, {"time": form, **zone})]}
    known = table.get(name, {})
    rank = list(table).index(name) if name in table else 0
    ranked = [(column, rank, how) for column, how in known.get("gives", {}).items()]
    return {**known, "gives_ranked": ranked}


@cache
def _table() -> Mapping[str, Any]:
    path = folders.definitions("sources", "apache_directives.yaml")
    table: Mapping[str, Any] = declared.parsed(path)
    return table

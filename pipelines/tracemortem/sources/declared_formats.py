"""Access-log formats as declared in formats/*.yaml. Those of users are held to their samples when loaded."""

import re
from collections.abc import Container, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from tracemortem import declared, folders
from tracemortem.errors import DefinitionError
from tracemortem.sources.clock import Clock
from tracemortem.sources.format_definition import KEYS, Declared, Refused, Sample, declared_format
from tracemortem.sources.lines import TextFormat, parse
from tracemortem.sources.log_format import Directive, compiled
from tracemortem.sources.readings import Reading
from tracemortem.sources.records import record

# what samples without a zone, or counted from a beginning, are read by
_SAMPLED = Clock(first_at=datetime(2026, 2, 3, 11, 2, 7, tzinfo=UTC))


@cache
def formats() -> tuple[TextFormat, ...]:
    """The formats that travel with the code, those first that are likelier where two read a line alike."""
    # a test holds them to their samples: here that would cost each run 0.7 CPU s
    return load(folders.definitions("sources", "formats"), is_proven=True)


def load(
    folder: Path, taken: Container[str] = (), *, is_own: bool = False, is_proven: bool = False
) -> tuple[TextFormat, ...]:
    """The formats of a folder of definitions, by preference and then by the names of their files.

    taken    names that none of them may have
    is_own   whether they are the user's
    is_proven  whether they are known to hold to their samples, and need not be tried on them
    raises   DefinitionError where a definition is faulty, misreads a sample, takes what it should refuse, or
             has a name that is taken
    """
    found: list[tuple[int, TextFormat]] = []
    for path in sorted(folder.glob("*.yaml")):
        preference, form = _one(path, is_own=is_own, is_proven=is_proven)
        if form.name in taken or any(form.name == other.name for _, other in found):
            what = f"the name {form.name!r} is taken"
            raise _faulty(path, what, "another format has it; reports could not tell them apart", "rename it")
        found.append((preference, form))
    return tuple(form for _, form in sorted(found, key=lambda pair: pair[0]))


def _one(path: Path, *, is_own: bool, is_proven: bool) -> tuple[int, TextFormat]:
    entries = declared.load(path, known=KEYS, required=("format", "title", "url", "samples", "refuses"))
    try:
        text = declared_format(entries)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        what = f"{path.name} is not what a format looks like"
        raise _faulty(
            path, what, f"{key}: {first['msg']}", "see the formats that travel with the code"
        ) from None
    form = _from_log_format(text, path) if text.log_format else _from_fields(text, path)
    form = replace(form, is_own=is_own)
    if is_proven:
        return text.preference, form
    try:
        _hold_to_samples(form, text.samples, path)
        _hold_to_refusals(form, text.refuses, path)
    except pl.exceptions.PolarsError as error:  # of a pattern under extract:, or the form of a time
        why = " ".join(str(error).split())
        raise _faulty(path, f"format {form.name!r} cannot be used", why, "correct fields:") from error
    return text.preference, form


def _from_log_format(text: Declared, path: Path) -> TextFormat:
    form = compiled(Directive(text.format, "default", text.log_format))
    if isinstance(form, str):
        raise _faulty(
            path, f"format {text.format!r} cannot be read", form, "write line:, json: or log_format:"
        )
    return TextFormat(text.format, text.title, form.pattern, form.readings)


def _from_fields(text: Declared, path: Path) -> TextFormat:
    name = text.format
    if bool(text.line) == bool(text.json_paths):
        what = f"format {name!r} does not say how a line looks"
        raise _faulty(path, what, "one of line:, json: and log_format: does", "write one of them")
    readings = []
    for group, columns in text.fields.items():
        if text.line and f"(?P<{group}>" not in text.line:
            raise _faulty(
                path, f"format {name!r} reads a group that is not in its line", group, "name it there"
            )
        for column, how in columns.items():
            if column not in record("access"):
                known = ", ".join(record("access"))
                raise _faulty(
                    path, f"format {name!r} gives {column!r}", f"columns are {known}", "use one of them"
                )
            readings += [
                Reading(column, group, **vars(one)) for one in (how if isinstance(how, list) else [how])
            ]
    paths = {*text.fields, *text.json_paths}
    if within := sorted(one for one in paths if any(other.startswith(f"{one}.") for other in paths)):
        what = f"format {name!r} reads {within[0]!r} as a value and as an object"
        raise _faulty(path, what, "a path that others go on from holds no text or number", "take it out")
    form = TextFormat(
        name, text.title, text.line, tuple(readings), text.comment, tuple(text.json_paths), text.last_resort
    )
    try:
        pl.Series([""]).str.extract_groups(form.pattern)
    except pl.exceptions.ComputeError as error:
        why = " ".join(str(error).split())
        raise _faulty(path, f"the line of format {name!r} is no pattern", why, "Rust regex syntax") from error
    if re.search(r"\\[1-9]|\(\?[=!<](?!P)", form.pattern):
        why = "look-around and back references are not in the common subset of Rust regex and RE2"
        raise _faulty(path, f"the line of format {name!r} uses more than it may", why, "write it without")
    if not form.columns & {"started_at", "finished_at"}:
        raise _faulty(
            path, f"format {name!r} reads no time", "no field gives started_at or finished_at", "add it"
        )
    return form


def _hold_to_samples(form: TextFormat, samples: Sequence[Sample], path: Path) -> None:
    for number, sample in enumerate(samples, start=1):
        rows, rejects = parse(_lines(sample.line), form, _SAMPLED)
        if rejects.height:
            why = rejects["reason"][0]
            raise _faulty(
                path, f"format {form.name!r} does not read its sample {number}", why, "correct line:"
            )
        given = rows.drop("line").row(0, named=True)
        read = {column: value for column, value in given.items() if value is not None}
        says = {column: _utc(value) for column, value in sample.gives.items()}
        for column in sorted(read.keys() | says.keys()):
            if read.get(column) != says.get(column):
                raise _faulty(
                    path,
                    f"format {form.name!r} misreads its sample {number}",
                    f"{column} is {read.get(column)}, sample says {says.get(column)}",
                    "correct line: or fields:, or what the sample gives:",
                )


def _hold_to_refusals(form: TextFormat, refuses: Sequence[Refused], path: Path) -> None:
    for number, refused in enumerate(refuses, start=1):
        if parse(_lines(refused.line), form)[0].height:
            what = f"format {form.name!r} takes line {number} of those it should refuse"
            raise _faulty(path, what, refused.why, "make line: stricter")


def _lines(text: str) -> pl.DataFrame:
    return pl.DataFrame({"line": [1], "text": [text]}, schema={"line": pl.UInt64, "text": pl.String})


def _utc(value: object) -> object:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def _faulty(path: Path, what: str, why: str, fix: str) -> DefinitionError:
    return DefinitionError(what, where=f"{path.parent.name}/{path.name}", why=why, fix=fix)

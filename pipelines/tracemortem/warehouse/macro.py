"""The macros of sql/macro: one a file, stored in the DuckDB file for analysts and for models."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracemortem.errors import DefinitionError
from tracemortem.warehouse import engine, header, statement

_SHAPE = re.compile(
    r"(?:--[^\n]*\n|\s)*create or replace macro (?P<name>\w+)\s*\([^)]*\)\s+as\s+"
    r"(?P<table>table\b)?(?P<body>.*)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Macro:
    """One macro. is_table: it gives rows, so the tables it reads must exist before it is created."""

    header: header.Header
    name: str
    is_table: bool


def read(sql: Path) -> tuple[Macro, ...]:
    """Every macro under sql/macro, by name.

    raises   DefinitionError if a file is not one macro of the file's name, a macro calls another (they would
             need an order), asks for a $name (no caller could give it), or gives a value but reads a table
             (a model calling it would hide what it reads)
    """
    parts = [_parts(header.read(path)) for path in sorted((sql / "macro").glob("*.sql"))]
    names = {macro.name for macro, _ in parts}
    with engine.connect(None) as con:
        for macro, body in parts:
            path = macro.header.path
            found = statement.parse(con, body if macro.is_table else f"select ({body})", path)
            faults = (
                [f"it calls the macro {other}" for other in sorted(names & (found.functions - {macro.name}))]
                + [f"it asks for ${name}" for name in sorted(found.parameters)]
                + [
                    f"it gives a value, yet reads {table}"
                    for table in sorted(found.tables)
                    if not macro.is_table
                ]
            )
            for fault in faults:
                raise DefinitionError(
                    f"macro {macro.name} does what no macro may",
                    where=str(path),
                    why=fault,
                    fix="write out what it needs, or make it a model or a table macro",
                )
    return tuple(macro for macro, _ in parts)


def install(con: duckdb.DuckDBPyConnection, macros: Iterable[Macro]) -> None:
    """Create the macros in the current database, with their comments.

    raises   DefinitionError if DuckDB refuses one
    """
    for macro in macros:
        kind = "macro table" if macro.is_table else "macro"
        about = " ".join((macro.header.about, *macro.header.notes))
        try:
            con.execute(macro.header.body)
            con.execute(f"comment on {kind} {engine.identifier(macro.name)} is {engine.literal(about)}")
        except duckdb.Error as error:
            raise DefinitionError(
                f"macro {macro.name} cannot be created",
                where=str(macro.header.path),
                why=engine.first_line(error),
                fix="mend its SQL",
            ) from error


def _parts(about: header.Header) -> tuple[Macro, str]:
    found = _SHAPE.fullmatch(about.body)
    if not found or found["name"] != about.path.stem:
        raise DefinitionError(
            f"{about.path.name} is no macro of that name",
            where=str(about.path),
            why=f"it begins {about.body[:60]!r}",
            fix=f"write `create or replace macro {about.path.stem}(...) as ...` and nothing else",
        )
    return Macro(about, found["name"], found["table"] is not None), found["body"]

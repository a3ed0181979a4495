"""The comment at the head of a .sql file: its grain, and what each column means, for DuckDB's comments."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracemortem.errors import DefinitionError
from tracemortem.warehouse.engine import identifier, literal

_COLUMN = re.compile(r"-- (?P<name>\w+) {2,}(?P<unit>\S+(?: \S+)*) {2,}(?P<meaning>\S.*)")
_CONTINUED = re.compile(r"-- {3,}(?P<more>\S.*)")
_GRAIN = "One row per "


@dataclass(frozen=True)
class Column:
    """One column as documented; unit `-` means that it has none."""

    name: str
    unit: str
    meaning: str

    @property
    def comment(self) -> str:
        """What stands at the column in the file that analysts open."""
        return self.meaning if self.unit == "-" else f"{self.meaning} [{self.unit}]"


@dataclass(frozen=True)
class Header:
    """A .sql file in two parts: what it says about itself, and the SQL.

    about    the first paragraph
    notes    further paragraphs of prose: method, source, limits
    columns  the `name  unit  meaning` lines
    body     the rest of the file, without a closing semicolon
    """

    path: Path
    about: str
    notes: tuple[str, ...]
    columns: tuple[Column, ...]
    body: str

    @property
    def name(self) -> str:
        """`schema.table`, as the path says."""
        return f"{self.path.parent.name}.{self.path.stem}"


def read(path: Path) -> Header:
    """Part a .sql file into its header and its SQL.

    raises   DefinitionError if there is no header, or a line among the columns is none
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    end = next((number for number, line in enumerate(lines) if not line.startswith("--")), len(lines))
    paragraphs: list[list[tuple[int, str]]] = [[]]
    for number, line in enumerate(lines[:end], start=1):
        if line.strip() == "--":
            paragraphs.append([])
        else:
            paragraphs[-1].append((number, line))
    columns: list[Column] = []
    prose: list[str] = []
    for paragraph in filter(None, paragraphs):
        if _COLUMN.fullmatch(paragraph[0][1]):
            columns += _columns(paragraph, path)
        else:
            prose.append(" ".join(line.removeprefix("--").strip() for _, line in paragraph))
    if not prose:
        raise DefinitionError(
            f"{path.name} does not say what it is",
            where=str(path),
            why="the comment at its head lacks a first paragraph",
            fix="begin it with `-- One row per ...`, an empty `--`, then one line a column",
        )
    body = "\n".join(lines[end:]).strip().removesuffix(";")
    return Header(path, prose[0], tuple(prose[1:]), tuple(columns), body)


def read_table(path: Path) -> Header:
    """The same for a file that makes a table: its first words are the grain.

    raises   DefinitionError as `read` does, or if the grain is missing
    """
    header = read(path)
    if not header.about.startswith(_GRAIN):
        raise DefinitionError(
            f"{header.name} does not say what a row is",
            where=str(path),
            why=f"its header begins {header.about[:40]!r}",
            fix=f"begin with {_GRAIN.strip()!r}",
        )
    return header


def compare(header: Header, names: Sequence[str]) -> None:
    """Hold the documented columns to those the SQL really gives.

    names    as DESCRIBE has them
    raises   DefinitionError naming the file and the first column that differs
    """
    documented = [column.name for column in header.columns]
    for name in names:
        if name not in documented:
            raise _differs(header, f"column {name!r} is not in the header", f"add `-- {name}  unit  meaning`")
    for name in documented:
        if name not in names:
            raise _differs(header, f"the header has {name!r}, the SQL does not", "take it out")
    for name, given in zip(documented, names, strict=False):
        if name != given:
            raise _differs(
                header, f"the header has {name!r} where the SQL has {given!r}", "put both in one order"
            )
    if len(documented) != len(names):
        raise _differs(header, "a column stands twice", "name each column once")


def comments(header: Header, kind: str = "table") -> str:
    """The statements that store the header with the table, or view."""
    table = identifier(header.path.parent.name, header.path.stem)
    about = " ".join((header.about, *header.notes))
    statements = [f"comment on {kind} {table} is {literal(about)}"]
    for column in header.columns:
        place = f"{table}.{identifier(column.name)}"
        statements.append(f"comment on column {place} is {literal(column.comment)}")
    return ";\n".join(statements)


def _columns(paragraph: list[tuple[int, str]], path: Path) -> list[Column]:
    columns: list[Column] = []
    for number, line in paragraph:
        column = _COLUMN.fullmatch(line)
        more = _CONTINUED.fullmatch(line)
        if column:
            columns.append(Column(column["name"], column["unit"], column["meaning"]))
        elif more:
            last = columns[-1]
            columns[-1] = Column(last.name, last.unit, f"{last.meaning} {more['more']}")
        else:
            raise DefinitionError(
                f"{path.name} has a column line that cannot be read",
                where=f"{path}, line {number}",
                why=f"{line!r} is not name, unit and meaning, each two spaces apart",
                fix="write `-- name  unit  meaning`, with `-` for no unit",
            )
    return columns


def _differs(header: Header, why: str, fix: str) -> DefinitionError:
    return DefinitionError(
        f"{header.name} is not what its header says", where=str(header.path), why=why, fix=fix
    )

"""What files are and hold, without loading them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tracemortem.errors import InputError
from tracemortem.sources import find, registry
from tracemortem.warehouse.load import stretch

_SHOWN = 3


@dataclass(frozen=True)
class Inspected:
    """One file: what it is taken for and why, and what reading it gives.

    rejects      how many records could not be read; reasons: the first of them, `line N: reason`
    clock        where the times come from of records that carry none; "": all carry theirs
    names        of each column of spans: the attributes it was taken from, and by how many
    first_rows   up to three rows of each table that it fills
    """

    path: str
    kind: str
    format: str
    reason: str
    rows: int
    rejects: int
    reasons: tuple[str, ...]
    first_at: datetime | None
    last_at: datetime | None
    clock: str
    names: dict[str, dict[str, int]]
    first_rows: dict[str, list[dict[str, Any]]]

    def summary(self) -> dict[str, Any]:
        """For programs."""
        return {
            **{name: value for name, value in vars(self).items() if name != "first_rows"},
            "first_rows": {
                table: [{name: _plain(value) for name, value in row.items()} for row in rows]
                for table, rows in self.first_rows.items()
            },
        }

    def text(self) -> str:
        """For people; control characters of the data are shown, not sent to the terminal."""
        span = "no times" if self.first_at is None else f"{self.first_at:%F %T}Z to {self.last_at:%F %T}Z"
        lines = [
            f"{_shown(self.path)}",
            f"  is      {self.format if self.kind != 'skipped' else 'skipped'} ({_shown(self.reason)})",
        ]
        if self.kind not in {"skipped", "log_format"}:
            lines.append(f"  holds   {self.rows:,} rows, {self.rejects:,} rejects, {span}")
        if self.clock:
            lines.append(f"  times   from {self.clock}")
        lines += [
            f"  name    {column} from {', '.join(f'{_shown(name)} ({rows:,})' for name, rows in of.items())}"
            for column, of in self.names.items()
        ]
        lines += [f"  reject  {_shown(reason)}" for reason in self.reasons]
        for table, rows in self.first_rows.items():
            for row in rows:
                known = {name: value for name, value in row.items() if value is not None}
                lines.append(f"  {table:<7} {_shown(', '.join(f'{k}={v}' for k, v in known.items()))}")
        return "\n".join(lines)


def inspect(inputs: tuple[str, ...]) -> Iterator[Inspected]:
    """Every file of the inputs; each is read whole, in batches.

    raises   InputError for what cannot be read; and, after the last file, for the first that is taken for
             telemetry and holds no row
    """
    empty = []
    for file in find.survey(inputs):
        found = _inspected(file)
        yield found
        if is_without_rows(file, found.rows):
            empty.append(no_row(file, found.reasons[0] if found.reasons else ""))
    if empty:
        raise empty[0]


def is_without_rows(file: find.Found, rows: int) -> bool:
    """Whether a file that is taken for telemetry gives none."""
    return rows == 0 and file.kind not in {"skipped", "log_format"}


def no_row(file: find.Found, why: str) -> InputError:
    """What is said of such a file. why: what happened to its records; "": there were none."""
    return InputError(
        f"{file.shown} gives no row",
        where=str(file.path),
        why=f"taken for {file.format}, since {file.reason}; {why or 'it holds no record'}",
        fix="leave it out; or, if it is another format, see `tracemortem formats` for what is read",
    )


def formats() -> tuple[dict[str, str], ...]:
    """The formats known."""
    return tuple({"format": one.name, "reads": one.kind, "title": one.title} for one in registry.known())


def _inspected(file: find.Found) -> Inspected:
    rows = rejects = 0
    clock = ""
    reasons: list[str] = []
    first: datetime | None = None
    last: datetime | None = None
    shown: dict[str, list[dict[str, Any]]] = {}
    used: Counter[tuple[str, str]] = Counter()
    for batch in registry.read(file) if file.kind != "skipped" else ():
        rows, rejects = rows + batch.stored, rejects + batch.rejects.height
        clock = clock or batch.clock
        used.update(batch.names)
        reasons += [
            f"line {line}: {reason}"
            for line, reason in batch.rejects.head(_SHOWN - len(reasons)).select("line", "reason").iter_rows()
        ]
        for table, frame in batch.rows.items():
            if frame.height and table not in shown:
                shown[table] = frame.head(_SHOWN).to_dicts()
            begins, ends = stretch(frame)
            if begins is not None and ends is not None:
                first, last = min(first or begins, begins), max(last or ends, ends)
    return Inspected(
        file.shown,
        file.kind,
        file.format,
        file.reason,
        rows,
        rejects,
        tuple(reasons),
        first,
        last,
        clock,
        _by_column(used),
        shown,
    )


def _by_column(used: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    names: dict[str, dict[str, int]] = {}
    for (column, name), rows in sorted(used.items()):
        names.setdefault(column, {})[name] = rows
    return names


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, (bool, int, float, str, list)) else str(value)


def _shown(text: str) -> str:
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)

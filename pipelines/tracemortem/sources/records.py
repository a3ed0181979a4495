"""What a record's columns mean, and the names others give them: records/*.yaml as frozen dataclasses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import polars as pl

from tracemortem import declared, folders
from tracemortem.errors import DefinitionError

TYPES: Mapping[str, pl.DataType] = {
    "varchar": pl.String(),
    "double": pl.Float64(),
    "bigint": pl.Int64(),
    "smallint": pl.Int16(),
    "usmallint": pl.UInt16(),
    "ubigint[]": pl.List(pl.UInt64()),
    "boolean": pl.Boolean(),
    "timestamptz": pl.Datetime("us", "UTC"),
}
WRITTEN = 0.0  # in place of a factor: the value is a text that says its unit, as 35.2ms
_KEYS = frozenset({"type", "unit", "about", "from", "times", "counter", "label", "labels", "without"})


@dataclass(frozen=True)
class Column:
    """One column of a record.

    aliases     (name, factor to our unit, or WRITTEN) pairs, newest name first
    is_counter  only ever grows, but for restarts
    label       the value stands in this label of the alias, not in its sample
    without     (label, value): a series that has it is the sum of others, and no field
    only        alias -> (label, value): of the series of that name only the one that has it is the field
    labels      the value is that of the first of these labels that is there
    """

    name: str
    dtype: pl.DataType
    unit: str
    about: str
    aliases: tuple[tuple[str, float], ...]
    is_counter: bool
    label: str | None
    labels: tuple[str, ...]
    without: tuple[tuple[str, str], ...] = ()
    only: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)


@cache
def record(name: str) -> Mapping[str, Column]:
    """The columns of records/<name>.yaml in the order declared.

    raises   DefinitionError where the file is faulty
    """
    path = folders.definitions("sources", "records") / f"{name}.yaml"
    # not declared.load: that one checks a fixed set of keys, and these keys are the record's own columns
    text = declared.parsed(path)
    return {column: _column(column, entry, str(path)) for column, entry in text.items()}


def _column(name: str, entry: Any, where: str) -> Column:
    faults = []
    if not isinstance(entry, dict):
        faults.append("is no mapping")
        entry = {}
    faults += [f"has a key nobody reads, {key!r}" for key in entry if key not in _KEYS]
    faults += [f"lacks {key!r}" for key in ("type", "unit", "about") if key not in entry]
    if entry.get("type", "double") not in TYPES:
        faults.append(f"has the unknown type {entry['type']!r}")
    if faults:
        raise DefinitionError(
            f"column {name!r} {faults[0]}",
            where=where,
            why=f"a column is declared by type ({', '.join(TYPES)}), unit, about, and where it comes from",
            fix="see the columns beside it",
        )
    times = float(entry.get("times", 1))
    aliases = tuple(
        (alias, times) if isinstance(alias, str) else (alias["name"], _factor(alias.get("times", times)))
        for alias in entry.get("from", ())
    )
    return Column(
        name,
        TYPES[entry["type"]],
        entry["unit"],
        entry["about"],
        aliases,
        bool(entry.get("counter", False)),
        entry.get("label"),
        tuple(entry.get("labels", ())),
        tuple((entry.get("without") or {}).items()),
        {
            alias["name"]: tuple(alias["only"].items())
            for alias in entry.get("from", ())
            if not isinstance(alias, str) and "only" in alias
        },
    )


def _factor(times: Any) -> float:
    return WRITTEN if times == "written" else float(times)

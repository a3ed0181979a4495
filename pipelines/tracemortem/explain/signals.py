"""A signal: one measured figure of an incident beside the same figure before it."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from tracemortem.incident import Evidence

_BEFORE = "_before"
_SIGNS = {"C": "°C", "s/1k tokens": "s per 1,000 tokens"}
# A report shows a ratio as a percentage, which only a share is.
_WRITTEN = {"ratio 0-1": "ratio", "ratio": "times", "p": "ratio"}
_CHANCE = "p"  # the unit of a probability by chance
UNKNOWN = "not recorded"


@dataclass(frozen=True)
class Signal:
    """One figure of an evidence table.

    name      table.column, as hypotheses cite it
    value     during the incident; None if not measured
    before    the same in the baseline; None if not measured, or if the figure compares both by itself
    covered   share of the incident's window in which it was measured, 0 to 1; None if the table does not say
    """

    name: str
    value: float | None
    before: float | None
    unit: str
    meaning: str
    covered: float | None

    @property
    def is_chance(self) -> bool:
        """Whether it is the probability of something by chance: the result of a test."""
        return self.unit == _CHANCE

    @property
    def ratio(self) -> float | None:
        """value over before, infinite for something where nothing was.

        None if either is unknown, or both are nothing.
        """
        if self.value is None or self.before is None or self.value == self.before == 0:
            return None
        return self.value / self.before if self.before else math.inf

    @property
    def change(self) -> float | None:
        """value less before; None if either is unknown."""
        if self.value is None or self.before is None:
            return None
        return self.value - self.before

    def evidence(self) -> Evidence:
        """The signal as a report cites it: what it is, the figures, and the SQL model that measured them."""
        table = self.name.partition(".")[0]
        return Evidence(
            id=self.name,
            text=self.meaning,
            value=self.value,
            baseline=self.before,
            unit=_WRITTEN.get(self.unit, self.unit),
            sql=f"sql/evidence/{table}.sql",
        )


def signals(
    table: str, frame: pl.DataFrame, meanings: Mapping[str, tuple[str, str]], incident_id: str
) -> Iterator[Signal]:
    """The signals of one incident in one evidence table.

    frame     one row per incident: incident_id, covered_ratio or not, figures, each with its `_before` or not
    meanings  column -> (unit, meaning), from the model's header
    """
    rows = frame.filter(pl.col("incident_id") == incident_id).to_dicts()
    row = rows[0] if rows else dict.fromkeys(frame.columns)
    covered = _number(row.get("covered_ratio"))
    for column in figures(frame.columns):
        unit, meaning = meanings[column]
        yield Signal(
            name=f"{table}.{column}",
            value=_number(row[column]),
            before=_number(row.get(column + _BEFORE)),
            unit=unit,
            meaning=meaning,
            covered=covered,
        )


def measured(
    frames: Mapping[str, pl.DataFrame],
    meanings: Mapping[str, Mapping[str, tuple[str, str]]],
    incident_id: str,
) -> dict[str, Signal]:
    """The signals of one incident in all evidence tables, by table.column; table -> frame, meanings."""
    return {
        signal.name: signal
        for table, frame in frames.items()
        for signal in signals(table, frame, meanings[table], incident_id)
    }


def figures(columns: Iterable[str]) -> list[str]:
    """Those columns of an evidence table that are signals of their own."""
    return [
        column
        for column in columns
        if column not in {"incident_id", "covered_ratio"} and not column.endswith(_BEFORE)
    ]


def figure(value: float | None, unit: str) -> str:
    """A figure as people read it, with its unit."""
    if value is None:
        return UNKNOWN
    if unit in {"ratio 0-1", _CHANCE}:
        percent = 100 * value
        return f"{percent:.0f} %" if abs(percent) >= 10 else f"{percent:.2g} %"
    if unit == "s" and 0 < abs(value) < 0.1:
        value, unit = 1000 * value, "ms"
    if unit == "ratio" and abs(value) < 100:
        return f"{value:.2f}"
    text = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    if unit.startswith("1/"):
        return text + unit[1:]
    return text if unit in {"-", "count", "ratio"} else f"{text} {_SIGNS.get(unit, unit)}"


def _number(value: object) -> float | None:
    if isinstance(value, (int, float)) and math.isfinite(value):
        return float(value)
    return None

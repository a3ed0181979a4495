"""The metric series of one OTLP file: each distinct one described once, and numbered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tracemortem.sources.batch import SERIES
from tracemortem.sources.series import Described, describe, from_labels

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Family:
    """What the points of one OTLP stream share.

    metric_type  gauge, sum, histogram, exponential_histogram, summary; delta_... where points are differences
    is_counter   None where OTLP does not say; then our own names for it do
    labels       attributes of resource and point, the point's where both have one; sorted
    scope        the instrumentation; two scopes may use one name for two things
    """

    name: str
    unit: str | None
    metric_type: str
    is_counter: bool | None
    labels: Labels
    scope: str


@dataclass(frozen=True)
class Part:
    """One series of a family: `` the value, `_count`, `_sum`, or `_bucket` up to `le`."""

    family: Family
    suffix: str = ""
    le: float | None = None


@dataclass
class Catalogue:
    """The series seen so far, and those not handed out yet."""

    _numbers: dict[Part, int] = field(default_factory=dict)
    _extras: dict[Part, list[tuple[int, float]]] = field(default_factory=dict)
    _ranks: dict[tuple[str | None, str | None, Labels], int] = field(default_factory=dict)
    _fresh: list[dict[str, Any]] = field(default_factory=list)
    _next: int = 0

    def numbers(self, parts: Sequence[Part]) -> list[int]:
        """The series_no of each part; those not seen before get the next ones."""
        # each once: labels in another order, or written otherwise, make two texts of one part
        fresh = {part: _described(part) for part in parts if part not in self._numbers}
        # newest names first: a field that a source gives by two names is taken from the newer
        for part, described in sorted(fresh.items(), key=lambda entry: entry[1].rank):
            self._numbers[part] = self._add(described, part)
            self._extras[part] = [
                (self._add(extra, part), value)
                for extra, value in from_labels(_name(part), dict(_labels(part)))
            ]
        return [self._numbers[part] for part in parts]

    def extras(self, parts: Sequence[Part]) -> list[tuple[int, int, float]]:
        """(position among the parts, series_no, value) of the series whose value stands in a part's label."""
        return [(at, *extra) for at, part in enumerate(parts) for extra in self._extras[part]]

    def take_new(self) -> pl.DataFrame:
        """The rows of the raw table series that were not handed out before."""
        rows = pl.DataFrame(self._fresh, schema=dict(SERIES))
        self._fresh = []
        return rows

    def _add(self, described: Described, part: Part) -> int:
        number, self._next = self._next, self._next + 1
        labels = _labels(part)
        record, column = described.record, described.field
        if record is not None:
            is_first = self._ranks.setdefault((record, column, labels), described.rank) == described.rank
            record, column = (record, column) if is_first else (None, None)
        told = part.family.is_counter
        self._fresh.append(
            {
                "series_no": number,
                "name": _name(part),
                "record": record,
                "field": column,
                "times": described.times if record else 1.0,
                "is_counter": described.is_counter if told is None else told,
                "metric_type": part.family.metric_type,
                "unit": part.family.unit if part.suffix in ("", "_sum") else None,
                "gpu": described.gpu,
                "host": described.host,
                "replica": described.replica,
                "model": described.model,
                "service": described.service,
                "labels": [{"key": key, "value": value} for key, value in labels],
            }
        )
        return number


def _described(part: Part) -> Described:
    return describe(_name(part), dict(_labels(part)))


def _name(part: Part) -> str:
    return part.family.name + part.suffix


def _labels(part: Part) -> Labels:
    if part.le is None:
        return part.family.labels
    le = "+Inf" if part.le == float("inf") else str(part.le)
    return tuple(sorted((*part.family.labels, ("le", le))))

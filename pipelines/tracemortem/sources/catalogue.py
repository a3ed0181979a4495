"""The series of one exposition: each distinct key parsed once, numbered, and described."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tracemortem.sources.batch import SERIES
from tracemortem.sources.series import Described, describe, from_labels

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:.]*")
_LABEL = re.compile(
    r'[ \t]*(?:(?P<bare>[a-zA-Z_][a-zA-Z0-9_.]*)|"(?P<quoted>(?:[^"\\]|\\.)*)")[ \t]*'
    r'(?P<given>=[ \t]*"(?P<value>(?:[^"\\]|\\.)*)"[ \t]*)?(?P<end>,|(?=\}))'
)
_END = re.compile(r"[ \t]*\}")
_ESCAPED = re.compile(r"\\(.)")
_META = re.compile(r"#[ \t]*(TYPE|UNIT)[ \t]+(\S+)[ \t]+(\S+)")
_PARTS_OF = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}
_KEYS = {"key": pl.String, "series_no": pl.UInt32, "name": pl.String, "fault": pl.String}
_EXTRAS = {"key": pl.String, "extra_no": pl.UInt32, "extra_value": pl.Float64}

Labels = tuple[tuple[str, str], ...]


class BadKeyError(Exception):
    """The text before a value is no series."""


def parse_key(key: str) -> tuple[str, dict[str, str]]:
    r"""Name and labels of a series as written: `name{a="b",}`, `{"na.me",a="b"}` or `{__name__="name"}`.

    Labels with an empty value are left out: to Prometheus they are not there.
    raises   BadKeyError with the reason
    """
    name = ""
    if match := _NAME.match(key):
        name = match[0]
    rest = key[len(name) :].strip(" \t")
    labels: dict[str, str] = {}
    if rest:
        if rest[0] != "{" or rest[-1] != "}":
            raise BadKeyError(
                "the name is no metric name" if "{" not in rest[:1] else "the labels are not closed"
            )
        position = 1
        while not _END.fullmatch(rest, position):
            label = _LABEL.match(rest, position)
            if label is None:
                raise BadKeyError("the labels are malformed")
            position = label.end()
            if label["given"] is None:
                if label["quoted"] is None or name:
                    raise BadKeyError("a label has no value")
                name = _plain(label["quoted"])
                continue
            label_name = label["bare"] if label["bare"] is not None else _plain(label["quoted"])
            if label_name in labels:
                raise BadKeyError(f"the label {label_name} stands twice")
            labels[label_name] = _plain(label["value"])
    name = labels.pop("__name__", "") or name
    if not name:
        raise BadKeyError("the metric has no name")
    return name, {label: value for label, value in labels.items() if value}


@dataclass
class Catalogue:
    """The series seen so far, and those not handed out yet.

    latest   what `number` gave last
    """

    latest: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_KEYS))
    _types: dict[str, str] = field(default_factory=dict)
    _units: dict[str, str] = field(default_factory=dict)
    _by_key: dict[str, tuple[int, str]] = field(default_factory=dict)
    _by_identity: dict[tuple[str, Labels], int] = field(default_factory=dict)
    _ranks: dict[tuple[str | None, str | None, Labels], int] = field(default_factory=dict)
    _extras: list[tuple[str, int, float]] = field(default_factory=list)
    _fresh: list[dict[str, Any]] = field(default_factory=list)
    _next: int = 0

    def note(self, comments: pl.Series) -> None:
        """Take in `# TYPE` and `# UNIT` lines; other comments say nothing that is needed."""
        for comment in comments.unique():
            if match := _META.match(comment):
                (self._types if match[1] == "TYPE" else self._units)[match[2]] = match[3]

    def number(self, keys: pl.Series) -> pl.DataFrame:
        """Columns key, series_no, name and fault (why it is no series, else null), one row a key."""
        faults: dict[str, str] = {}
        fresh: list[tuple[Described, str, str, dict[str, str]]] = []
        for key in keys:
            if key is None or key in self._by_key:
                continue
            try:
                name, labels = parse_key(key)
            except BadKeyError as error:
                faults[key] = str(error)
            else:
                fresh.append((describe(name, labels), key, name, labels))
        # newest names first: a field that a source gives by two names is taken from the newer
        for described, key, name, labels in sorted(fresh, key=lambda entry: entry[0].rank):
            self._register(described, key, name, labels)
        known = [self._by_key.get(key, (None, None)) for key in keys]
        self.latest = pl.DataFrame(
            {
                "key": keys,
                "series_no": [number for number, _ in known],
                "name": [name for _, name in known],
                "fault": [faults.get(key) for key in keys],
            },
            schema=_KEYS,
        )
        return self.latest

    def series(self, named: Sequence[tuple[str, Mapping[str, str]]]) -> list[int]:
        """The numbers of series given by name and labels, not as a text."""
        labelled = [
            (name, {label: value for label, value in labels.items() if value}) for name, labels in named
        ]
        order = sorted((describe(name, labels).rank, at) for at, (name, labels) in enumerate(labelled))
        numbers = [0] * len(labelled)
        for _, at in order:
            name, labels = labelled[at]
            identity = (name, tuple(sorted(labels.items())))
            if identity not in self._by_identity:
                self._by_identity[identity] = self._add(describe(name, labels), name, identity[1])
            numbers[at] = self._by_identity[identity]
        return numbers

    def of_label(self, described: Described, name: str, labels: Mapping[str, str]) -> int:
        """The number of the series whose value stands in a label of this one."""
        given = tuple(sorted((label, value) for label, value in labels.items() if value))
        identity = (f"{name}#{described.field}", given)
        if identity not in self._by_identity:
            self._by_identity[identity] = self._add(described, name, given)
        return self._by_identity[identity]

    def extras(self) -> pl.DataFrame:
        """Columns key, extra_no, extra_value: the series whose value stands in a label of the key's."""
        return pl.DataFrame(self._extras, schema=_EXTRAS, orient="row")

    def take_new(self) -> pl.DataFrame:
        """The rows of `series` that were not handed out before."""
        rows = pl.DataFrame(self._fresh, schema=dict(SERIES))
        self._fresh = []
        return rows

    def _register(self, described: Described, key: str, name: str, labels: Mapping[str, str]) -> None:
        identity = (name, tuple(sorted(labels.items())))
        if identity in self._by_identity:  # the same series, its labels in another order
            self._by_key[key] = (self._by_identity[identity], name)
            return
        number = self._add(described, name, identity[1])
        self._by_identity[identity] = number
        self._by_key[key] = (number, name)
        for of_label, value in from_labels(name, labels):
            self._extras.append((key, self._add(of_label, name, identity[1]), value))

    def _add(self, described: Described, name: str, labels: Labels) -> int:
        number, self._next = self._next, self._next + 1
        base, metric_type = self._typed(name)
        record, column = described.record, described.field
        if record is not None:
            is_first = self._ranks.setdefault((record, column, labels), described.rank) == described.rank
            record, column = (record, column) if is_first else (None, None)
        is_counter = described.is_counter or (
            described.record is None
            and not name.endswith("_created")
            and (metric_type == "counter" or name != base)
        )
        self._fresh.append(
            {
                "series_no": number,
                "name": name,
                "record": record,
                "field": column,
                "times": described.times if record else 1.0,
                "is_counter": is_counter,
                "metric_type": metric_type,
                "unit": self._units.get(base),
                "gpu": described.gpu,
                "host": described.host,
                "replica": described.replica,
                "model": described.model,
                "service": described.service,
                "labels": [{"key": label, "value": value} for label, value in labels],
            }
        )
        return number

    def _typed(self, name: str) -> tuple[str, str | None]:
        """The metric a series is part of, and its type: histograms and summaries are written in parts."""
        if name in self._types:
            return name, self._types[name]
        for metric_type, suffixes in _PARTS_OF.items():
            for suffix in suffixes:
                base = name.removesuffix(suffix)
                if base != name and self._types.get(base) == metric_type:
                    return base, metric_type
        if self._types.get(name.removesuffix("_total")) == "counter":  # OpenMetrics types the name without it
            return name, "counter"
        return name, None


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], text) if "\\" in text else text

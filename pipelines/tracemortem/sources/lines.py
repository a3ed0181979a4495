"""Lines of text -> rows of the access record, by a format: one regular expression, applied column-wise."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import polars as pl

from tracemortem.sources import blocks
from tracemortem.sources.batch import REJECTS, Batch, rejected
from tracemortem.sources.records import record

_NOT_THERE = ("-", "")
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_SEPARATOR = ", | : "  # nginx: between upstreams tried, and between groups of them
_ESCAPE = re.compile(rb'\\(?:x([0-9A-Fa-f]{2})|(["\\nrt]))')
_PLAIN = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


@dataclass(frozen=True)
class Reading:
    """How one field of a line becomes one column.

    to       column of the access record
    group    named group of the pattern
    extract  a regular expression with one group: what it takes out of the field; no match is null
    time     strptime format with a zone, or `epoch_s`
    times    factor to the column's unit
    list     of an upstream list: its `sum`, its `last` entry, the `count` of its entries
    none     further texts that mean "not known", besides - and nothing
    """

    to: str
    group: str
    extract: str | None = None
    time: str | None = None
    times: float = 1.0
    list: str | None = None
    none: tuple[str, ...] = ()


@dataclass(frozen=True)
class TextFormat:
    """A compiled access-log format.

    pattern   matches the whole line; in the common part of the syntaxes of Rust's regex and RE2
    readings  where several give one column, the first that is not null wins
    """

    name: str
    title: str
    pattern: str
    readings: tuple[Reading, ...]

    @property
    def columns(self) -> frozenset[str]:
        """The columns of the access record that a line gives."""
        return frozenset(reading.to for reading in self.readings)


def read(stream: BinaryIO, form: TextFormat) -> Iterator[Batch]:
    """The lines of an access log as rows of `access`; each is a row or a reject, blank ones are neither."""
    for block in blocks.blocks(stream):
        rows, rejects = parse(blocks.lines(block), form)
        if block.overlong is not None:
            rejects = blocks.overlong(block)
        stored = rows.height
        yield Batch({"access": rows}, rejects, stored + rejects.height, block.bytes_read, stored)


def parse(lines: pl.DataFrame, form: TextFormat) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of `access`, and rejects, out of lines (columns line and text)."""
    lines = lines.filter(pl.col("text").str.strip_chars() != "")
    found = lines["text"].str.extract_groups(form.pattern).struct.unnest()
    values: dict[str, list[pl.Series]] = {}
    faults: list[pl.Series] = [_unmatched(found, form)]
    for reading in form.readings:
        text = _text(found[reading.group], reading)
        value = _value(text, reading)
        values.setdefault(reading.to, []).append(value)
        if reading.extract is None and reading.list is None:
            faults.append(_fault(text, value, reading))
    access = record("access")
    rows = lines.select(
        "line",
        *(
            pl.coalesce(values[name]).alias(name)
            if name in values
            else pl.lit(None, column.dtype).alias(name)
            for name, column in access.items()
        ),
    )
    rows = _with_both_ends(rows).with_columns(_unescaped(rows[name]) for name in _texts(rows))
    no_time = rows.select(
        pl.when(pl.coalesce("started_at", "finished_at").is_null()).then(pl.lit("no time"))
    ).to_series()
    reason = pl.select(pl.coalesce(*faults, no_time)).to_series()
    is_kept = reason.is_null()
    if is_kept.all():
        return rows, pl.DataFrame(schema=dict(REJECTS))
    return rows.filter(is_kept), rejected(lines.with_columns(reason=reason).filter(~is_kept))


def _unmatched(found: pl.DataFrame, form: TextFormat) -> pl.Series:
    return found.select(
        pl.when(pl.all_horizontal(pl.all().is_null())).then(pl.lit(f"no line of {form.name}"))
    ).to_series()


def _text(field: pl.Series, reading: Reading) -> pl.Series:
    text = field.str.extract(reading.extract, 1) if reading.extract else field
    none = pl.Series([*_NOT_THERE, *reading.none])
    return pl.select(pl.when(~text.is_in(none.implode())).then(text)).to_series()


def _value(text: pl.Series, reading: Reading) -> pl.Series:
    """The field as a column of its declared type; null where it is not there, or malformed."""
    dtype = record("access")[reading.to].dtype
    if reading.time == "epoch_s":
        value = (text.cast(pl.Float64, strict=False) * 1e6).round().cast(pl.Int64, strict=False)
    elif reading.time is not None:
        value = text.str.to_datetime(reading.time, time_unit="us", time_zone="UTC", strict=False)
    elif reading.list is not None:
        value = _listed(text, reading)
    else:
        value = text.cast(pl.Float64, strict=False) * reading.times if dtype.is_float() else text
    return value.cast(dtype, strict=False)


def _listed(text: pl.Series, reading: Reading) -> pl.Series:
    if reading.list == "last":
        return text.str.extract(r"(?:^|, | : )([^, ]+)$", 1)
    if reading.list == "count":
        return text.str.count_matches(_SEPARATOR) + 1
    numbers = text.str.extract_all(_NUMBER).cast(pl.List(pl.Float64))
    sums = pl.select(pl.when(numbers.list.len() > 0).then(numbers.list.sum())).to_series()
    return (sums * reading.times).round(6)  # the parts are in ms: 0.1 + 4.1 is 4.2


def _fault(text: pl.Series, value: pl.Series, reading: Reading) -> pl.Series:
    return pl.select(
        pl.when(text.is_not_null() & value.is_null()).then(
            pl.format(f"{reading.group} gives no {reading.to}: {{}}", text.str.slice(0, 60))
        )
    ).to_series()


def _with_both_ends(rows: pl.DataFrame) -> pl.DataFrame:
    """Start and end, whichever the line lacks worked out of the other and the duration."""
    duration = (pl.col("duration_s") * 1e6).round().cast(pl.Int64).cast(pl.Duration("us"))
    return rows.with_columns(
        started_at=pl.coalesce("started_at", pl.col("finished_at") - duration),
        finished_at=pl.coalesce("finished_at", pl.col("started_at") + duration),
    )


def _texts(rows: pl.DataFrame) -> list[str]:
    return [name for name, dtype in rows.schema.items() if dtype == pl.String]


def _unescaped(texts: pl.Series) -> pl.Series:
    r"""The texts without \xXX, \" and \\, as servers write them. Each distinct text is worked on once."""
    is_escaped = texts.str.contains("\\", literal=True)
    if not is_escaped.any():
        return texts
    escaped = texts.filter(is_escaped).unique()
    plain = [_ESCAPE.sub(_byte, text.encode()).decode("utf-8", "replace") for text in escaped]
    return texts.replace(escaped, pl.Series(plain))


def _byte(match: re.Match[bytes]) -> bytes:
    if match[1]:
        return bytes([int(match[1], 16)])
    return _PLAIN.get(match[2], match[2])

"""Lines of text -> rows of the access record, by a format: one regular expression, applied column-wise."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

import polars as pl

from tracemortem.sources import blocks, json_fields, wrapped
from tracemortem.sources.batch import REJECTS, TIME, Batch, rejected
from tracemortem.sources.clock import Clock
from tracemortem.sources.records import record

_NOT_THERE = ("-", "")
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_FAR = 1e11  # no duration, and as seconds since 1970 the year 5138: beyond it time runs over
_YEARS = (1970, 2200)
_COUNTED: Mapping[str | None, float] = {"start_ns": 1e-3, "start_ms": 1e3, "start_s": 1e6}
_EPOCHS: Mapping[str | None, float] = {"epoch_s": 1e6, "epoch_ms": 1e3, "epoch_us": 1.0, "epoch_ns": 1e-3}
_SEPARATOR = ", | : "  # nginx: between upstreams tried, and between groups of them
_ESCAPES = {  # how a server writes what may not stand in a line as it is
    "backslash": ("\\", re.compile(rb'\\(?:(?:x|u00)([0-9A-Fa-f]{2})|(["\\/nrt]))')),
    "hash": ("#", re.compile(rb"#([0-9A-Fa-f]{2})()")),
    "percent": ("%", re.compile(rb"%(?:25)?([0-9A-Fa-f]{2})()")),
    "none": ("", re.compile(rb"()()")),
}
_PLAIN = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


IN_UTC = Clock()


@dataclass(frozen=True)
class Reading:
    """How one field of a line becomes one column.

    to       column of the access record
    group    named group of the pattern
    extract  a regular expression with one group: what it takes out of the field; no match is null
    time     strptime format, or `epoch_s`, `epoch_ms`, `epoch_us`, `epoch_ns`; `start_ns`,
             `start_ms` and `start_s` count from a beginning that the clock tells
    zone     `local` where the time is written without a zone and is that of the server's clock
    times    factor to the column's unit
    minus    a group or path whose number is taken off first
    list     of an upstream list: its `sum`, its `last` entry, the `count` of its entries
    none     further texts that mean "not known", besides - and nothing
    escape   how the server escapes text: backslash, hash (#XX), percent (%XX, at times twice), none
    """

    to: str
    group: str
    extract: str | None = None
    time: str | None = None
    times: float = 1.0
    list: str | None = None
    none: tuple[str, ...] = ()
    zone: str = ""
    minus: str = ""
    escape: str = "backslash"


@dataclass(frozen=True)
class TextFormat:
    """A compiled access-log format.

    pattern   matches the whole line; in the common part of the syntaxes of Rust's regex and RE2; "" for JSON
    readings  where several give one column, the first that is not null wins
    comment   lines that begin with it are no records; "": there are none
    needs     of JSON lines: paths that every line must hold; readings then name paths, as request.uri
    is_last_resort  taken only where no other format reads as many lines
    """

    name: str
    title: str
    pattern: str
    readings: tuple[Reading, ...]
    comment: str = ""
    needs: tuple[str, ...] = ()
    is_last_resort: bool = False

    @property
    def columns(self) -> frozenset[str]:
        """The columns of the access record that a line gives."""
        return frozenset(reading.to for reading in self.readings)


def read(stream: BinaryIO, form: TextFormat, clock: Clock = IN_UTC) -> Iterator[Batch]:
    """The lines of an access log as rows of `access`; each is a row or a reject, blank ones are neither.

    clock   of times that the format writes without a zone, or counted from a start it does not tell
    """
    for block, bare in wrapped.unwrapped(stream):
        rows, rejects = parse(bare, form, clock)
        if block is not None and block.overlong is not None:
            rejects = blocks.overlong(block)
        stored, read = rows.height, block.bytes_read if block is not None else 0
        source = clock.source if is_counted(form) else ""
        yield Batch({"access": rows}, rejects, stored + rejects.height, read, stored, source)


def is_counted(form: TextFormat) -> bool:
    """Whether the lines tell their times from a beginning only, which the clock knows."""
    return any(reading.time in _COUNTED for reading in form.readings)


def reads(texts: pl.Series, form: TextFormat) -> int:
    """How many of the lines are of the format; its comments count where there is more than them."""
    if form.needs:
        texts = texts.filter(texts.str.contains(r"^\s*\{"))  # most logs are text, and parsing is dear
        if texts.is_empty():
            return 0
        found = _found(texts, form)
        return int(found.select(pl.any_horizontal(pl.all().is_not_null()).sum()).item())
    read = int(texts.str.contains(form.pattern).sum())
    if form.comment and read:
        read += int(texts.str.starts_with(form.comment).sum())
    return read


def parse(lines: pl.DataFrame, form: TextFormat, clock: Clock = IN_UTC) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of `access`, and rejects, out of lines.

    lines   columns line and text, and maybe at, which tells the end of a request where nothing else does
    """
    lines = lines.filter(pl.col("text").str.strip_chars() != "")
    if form.comment:
        lines = lines.filter(~pl.col("text").str.starts_with(form.comment))
    found = _found(lines["text"], form)
    values: dict[str, list[pl.Series]] = {}
    faults: list[pl.Series] = [_unmatched(found, form)]
    for reading in form.readings:
        text = _text(found[reading.group], reading)
        value = _value(text, reading, clock)
        if reading.minus:
            value = (value - _value(found[reading.minus], reading, clock)).round(9)
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
    escapes = {reading.to: reading.escape for reading in form.readings}
    if "at" in lines.columns:
        is_timed = pl.any_horizontal(pl.col("started_at", "finished_at").is_not_null())
        rows = rows.with_columns(finished_at=pl.when(is_timed).then("finished_at").otherwise(lines["at"]))
    rows = _with_both_ends(rows).with_columns(
        _unescaped(rows[name], escapes[name]) for name in _texts(rows) if name in escapes
    )
    ends = pl.col("started_at", "finished_at")
    no_time = rows.select(
        pl.when(pl.all_horizontal(ends.is_null()))
        .then(pl.lit("no time"))
        .when(~pl.all_horizontal(ends.dt.year().is_between(*_YEARS).fill_null(value=True)))
        .then(pl.lit("the time is out of all reason"))
    ).to_series()
    reason = pl.select(pl.coalesce(*faults, no_time)).to_series()
    is_kept = reason.is_null()
    if is_kept.all():
        return rows, pl.DataFrame(schema=dict(REJECTS))
    return rows.filter(is_kept), rejected(lines.with_columns(reason=reason).filter(~is_kept))


def _found(texts: pl.Series, form: TextFormat) -> pl.DataFrame:
    """The fields of each line by group or path, as text; all are null where it is no line of the format."""
    if form.needs:
        return json_fields.extracted(texts, form.needs, _groups(form))
    return texts.str.extract_groups(form.pattern).struct.unnest()


def _groups(form: TextFormat) -> list[str]:
    return [group for reading in form.readings for group in (reading.group, reading.minus) if group]


def _unmatched(found: pl.DataFrame, form: TextFormat) -> pl.Series:
    return found.select(
        pl.when(pl.all_horizontal(pl.all().is_null())).then(pl.lit(f"no line of {form.name}"))
    ).to_series()


def _text(field: pl.Series, reading: Reading) -> pl.Series:
    text = field.str.extract(reading.extract, 1) if reading.extract else field
    none = pl.Series([*_NOT_THERE, *reading.none])
    return pl.select(pl.when(~text.is_in(none.implode())).then(text)).to_series()


def _value(text: pl.Series, reading: Reading, clock: Clock) -> pl.Series:
    """The field as a column of its declared type; null where it is not there, or malformed."""
    dtype = record("access")[reading.to].dtype
    if reading.time in _EPOCHS:
        per_us = _EPOCHS[reading.time]
        value = (_number(text, _FAR * 1e6 / per_us) * per_us).round().cast(pl.Int64)
    elif reading.time in _COUNTED:
        ahead = (_number(text) * _COUNTED[reading.time]).round().cast(pl.Int64).cast(pl.Duration("us"))
        value = pl.select(pl.lit(clock.first_at, TIME) + ahead).to_series()
    elif reading.time is not None and reading.zone == "local":
        value = text.to_frame("at").select(clock.local(pl.col("at"), reading.time)).to_series()
    elif reading.time is not None:
        value = text.str.to_datetime(reading.time, time_unit="us", time_zone="UTC", strict=False)
    elif reading.list is not None:
        value = _listed(text, reading)
    else:
        value = _scaled(text, reading.times) if dtype.is_float() else text
    return value.cast(dtype, strict=False)


def _number(text: pl.Series, far: float = _FAR) -> pl.Series:
    number = text.cast(pl.Float64, strict=False)
    return pl.select(pl.when(number.abs() < far).then(number)).to_series()


def _scaled(text: pl.Series, times: float) -> pl.Series:
    number = _number(text, _FAR / times)
    return number if times == 1 else (number * times).round(9)  # 690 ms are 0.69 s


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
        duration_s=pl.coalesce(
            "duration_s", (pl.col("finished_at") - pl.col("started_at")) / pl.duration(seconds=1)
        ),
    )


def _texts(rows: pl.DataFrame) -> list[str]:
    return [name for name, dtype in rows.schema.items() if dtype == pl.String]


def _unescaped(texts: pl.Series, escape: str) -> pl.Series:
    r"""The texts without the escapes that servers write. Each distinct text is worked on once."""
    sign, pattern = _ESCAPES[escape]
    is_escaped = texts.str.contains(sign, literal=True)
    if not sign or not is_escaped.any():
        return texts
    escaped = texts.filter(is_escaped).unique()
    plain = [pattern.sub(_byte, text.encode()).decode("utf-8", "replace") for text in escaped]
    return texts.replace(escaped, pl.Series(plain))


def _byte(match: re.Match[bytes]) -> bytes:
    if match[1]:
        return bytes([int(match[1], 16)])
    return _PLAIN.get(match[2], match[2])

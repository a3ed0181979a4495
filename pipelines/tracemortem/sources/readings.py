"""One field of a line as one column: what is taken out of its text, and what that means."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from tracemortem.sources.batch import TIME
from tracemortem.sources.clock import Clock
from tracemortem.sources.records import record

_NOT_THERE = ("-", "")
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_FAR = 1e11  # no duration, and as seconds since 1970 the year 5138: beyond it time runs over
_LARGEST = 10  # factor of a unit: what is written with ten digits is not beyond _FAR then
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
_LOOKED_AT = 1000
_REPEATED = 4  # times that a text must occur on average for its like to be worked on once


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
    always   stands for the field's text wherever there is one
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
    always: str | None = None

    @property
    def is_number(self) -> bool:
        """Whether the text counts as a number alone, so that 0.10 is as good as 0.1."""
        is_float = self.time is None and record("access")[self.to].dtype.is_float() and self.times <= _LARGEST
        return not (self.extract or self.none or self.always) and (
            is_float or self.time in _EPOCHS or self.time in _COUNTED or self.list in {"sum", "count"}
        )

    @property
    def is_counted(self) -> bool:
        """Whether its time counts from a beginning that the clock tells."""
        return self.time in _COUNTED


def text(field: pl.Series, reading: Reading) -> pl.Series:
    """What the reading takes out of the field; null where that is not there, or means "not known"."""
    if field.dtype == pl.List:
        return field
    taken = _extracted(field, reading.extract) if reading.extract else field
    if reading.always is not None:
        taken = pl.select(pl.when(taken.is_not_null()).then(pl.lit(reading.always))).to_series()
    none = pl.Series([*_NOT_THERE, *reading.none])
    return pl.select(pl.when(~taken.is_in(none.implode())).then(taken)).to_series()


def value(texts: pl.Series, reading: Reading, clock: Clock) -> pl.Series:
    """The texts as a column of its declared type; null where there is none, or it is malformed."""
    dtype = record("access")[reading.to].dtype
    if reading.time in _EPOCHS:
        per_us = _EPOCHS[reading.time]
        found = (_number(texts, _FAR * 1e6 / per_us) * per_us).round().cast(pl.Int64)
    elif reading.time in _COUNTED:
        ahead = (_number(texts) * _COUNTED[reading.time]).round().cast(pl.Int64).cast(pl.Duration("us"))
        found = pl.select(pl.lit(clock.first_at, TIME) + ahead).to_series()
    elif reading.time is not None and reading.zone == "local":
        found = texts.to_frame("at").select(clock.local(pl.col("at"), reading.time)).to_series()
    elif reading.time is not None:
        found = texts.str.to_datetime(reading.time, time_unit="us", time_zone="UTC", strict=False)
    elif reading.list is not None:
        found = _listed(texts, reading)
    elif texts.dtype == pl.List:
        entries = texts.cast(dtype, strict=False)
        return pl.select(
            pl.when(entries.list.drop_nulls().list.len() == entries.list.len()).then(entries)
        ).to_series()
    else:
        found = _scaled(texts, reading.times) if dtype.is_float() else texts
    return found.cast(dtype, strict=False)


def fault(texts: pl.Series, values: pl.Series, reading: Reading) -> pl.Series | None:
    """A reason for each text that gives no value; None where there is no such text."""
    if values.null_count() == texts.null_count():
        return None
    if texts.dtype == pl.List:
        texts = texts.list.join(",")
    return pl.select(
        pl.when(texts.is_not_null() & values.is_null()).then(
            pl.format(f"{reading.group} gives no {reading.to}: {{}}", texts.str.slice(0, 60))
        )
    ).to_series()


def signs(readings: Iterable[Reading]) -> set[str]:
    """What begins the escapes of texts; where none stands in them they are as they are written."""
    return {_ESCAPES[reading.escape][0] for reading in readings} - {""}


def unescaped(texts: pl.Series, escape: str) -> pl.Series:
    r"""The texts without the escapes that servers write. Each distinct text is worked on once."""
    sign, pattern = _ESCAPES[escape]
    if not sign or not (is_escaped := texts.str.contains(sign, literal=True)).any():
        return texts
    escaped = texts.filter(is_escaped).unique()
    plain = [pattern.sub(_byte, one.encode()).decode("utf-8", "replace") for one in escaped]
    return texts.replace(escaped, pl.Series(plain))


def _extracted(field: pl.Series, pattern: str) -> pl.Series:
    # of 1,000,000 lines: 0.7 CPU s, and 0.05 where the texts repeat and each is worked on once
    if field.head(_LOOKED_AT).n_unique() * _REPEATED > min(len(field), _LOOKED_AT):
        return field.str.extract(pattern, 1)
    distinct = field.unique()
    return field.replace_strict(distinct, distinct.str.extract(pattern, 1), return_dtype=pl.String)


def _number(texts: pl.Series, far: float = _FAR) -> pl.Series:
    number = texts.cast(pl.Float64, strict=False)
    return pl.select(pl.when(number.abs() < far).then(number)).to_series()


def _scaled(texts: pl.Series, times: float) -> pl.Series:
    number = _number(texts, _FAR / times)
    return number if times == 1 else (number * times).round(9)  # 690 ms are 0.69 s


def _listed(texts: pl.Series, reading: Reading) -> pl.Series:
    if reading.list == "sum":
        sums = (_sum(texts) * reading.times).round(6)  # the parts are in ms: 0.1 + 4.1 is 4.2
        return pl.select(pl.when(sums < _FAR).then(sums)).to_series()
    is_list = texts.str.contains("[, ]").any()
    if reading.list == "last":
        return texts.str.extract(r"(?:^|, | : )([^, ]+)$", 1) if is_list else texts
    if not is_list:
        return pl.select(pl.when(texts.is_not_null()).then(pl.lit(1, pl.UInt32))).to_series()
    return texts.str.count_matches(_SEPARATOR) + 1


def _sum(texts: pl.Series) -> pl.Series:
    if texts.str.contains(r"^[0-9]+(?:\.[0-9]+)?$").all():  # nulls aside: one upstream each, as is usual
        return texts.cast(pl.Float64)
    numbers = texts.str.extract_all(_NUMBER).cast(pl.List(pl.Float64))
    return pl.select(pl.when(numbers.list.len() > 0).then(numbers.list.sum())).to_series()


def _byte(match: re.Match[bytes]) -> bytes:
    if match[1]:
        return bytes([int(match[1], 16)])
    return _PLAIN.get(match[2], match[2])

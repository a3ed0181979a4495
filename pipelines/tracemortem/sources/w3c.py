"""W3C extended logs, of IIS, CloudFront and others: the line `#Fields` says what the lines after it hold."""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, BinaryIO

import polars as pl

from tracemortem import declared, folders
from tracemortem.sources import blocks, lines
from tracemortem.sources.batch import REJECTS, Batch, rejected
from tracemortem.sources.clock import Clock
from tracemortem.sources.lines import TextFormat
from tracemortem.sources.log_format import reading
from tracemortem.sources.readings import Reading
from tracemortem.sources.records import record

BEGINS = r"^#Fields:[ \t]*\S"
_DIRECTIVES = {"fields": "#Fields:", "software": "#Software:", "date": "#Date:"}
_DATES = {"date": ("time", ""), "date-local": ("time-local", "local")}
_DAY = r"^#Date:\s*([0-9]{4}-[0-9]{2}-[0-9]{2})\b"
_AT = "%Y-%m-%d %H:%M:%S%.f"
_ANY = r'(?:"(?:[^"]|"")*"|[^ \t"][^ \t]*)'
_DATE, _TIME = "[0-9]{4}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
_QUOTED_TIME = f'"({_DATE})"[ \\t]+"({_TIME})"'
# who writes the time taken in what: the standard says seconds, but others write microseconds unsaid
_IN_MS, _IN_S = re.compile(r"Microsoft|SGOS"), "x-edge-request-id"
_MOST = 256  # fields of a line


def read(stream: BinaryIO, clock: Clock) -> Iterator[Batch]:
    """The lines as rows of `access`, by the #Fields above them; a line that has other fields is a reject.

    clock   its zone is that of date-local and time-local; date and time are UTC, as the standard has it

    Where lines carry only a time, the day is that of #Date. The time is that at which the line was written,
    at the request's end, as IIS and CloudFront do. time-taken is read where it is known who wrote it: IIS and
    SGOS in ms, CloudFront in s; else the unit is not known. #Fields may change within the file.
    """
    above = dict.fromkeys(_DIRECTIVES, "")
    for block in blocks.blocks(stream):
        if block.overlong is not None:
            rejects = blocks.overlong(block)
            yield Batch({"access": _none()}, rejects, rejects.height, block.bytes_read, 0)
            continue
        found, above = _under(blocks.lines(block), above)
        rows, refused = [_none()], [pl.DataFrame(schema=dict(REJECTS))]
        for section in found.partition_by("section", maintain_order=True):
            fields, software, date = section.select(*_DIRECTIVES).row(0)
            parsed, lost = _parsed(section.select("line", "text"), fields, software, date, clock)
            rows.append(parsed)
            refused.append(lost)
        access, rejects = pl.concat(rows), pl.concat(refused)
        yield Batch({"access": access}, rejects, found.height, block.bytes_read, access.height)


def _under(text: pl.DataFrame, above: Mapping[str, str]) -> tuple[pl.DataFrame, dict[str, str]]:
    """The lines that are no directives, with those above them; and the directives at the end."""
    told = text.filter(pl.col("text").str.strip_chars() != "").with_columns(
        pl.when(pl.col("text").str.starts_with(sign))
        .then("text")
        .forward_fill()
        .fill_null(above[name])
        .alias(name)
        for name, sign in _DIRECTIVES.items()
    )
    after = dict(zip(_DIRECTIVES, told.select(*_DIRECTIVES).row(-1), strict=True)) if told.height else above
    kept = told.filter(~pl.col("text").str.starts_with("#"))
    return kept.with_columns(section=pl.struct(*_DIRECTIVES).rle_id()), dict(after)


def _parsed(
    found: pl.DataFrame, fields: str, software: str, date: str, clock: Clock
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of `access` of lines (columns line, text), and the rejects, by the directives above them."""
    names = fields.removeprefix(_DIRECTIVES["fields"]).lower().split()
    text = pl.col("text").str.replace(_QUOTED_TIME, "$1 $2")
    if "time" in names and "date" not in names and (day := re.match(_DAY, date)):
        place = names.index("time")
        names.insert(place, "date")
        text = text.str.replace(rf"^((?:{_ANY}[ \t]+){{{place}}})", f"${{1}}{day[1]} ")
    taken = 0.001 if _IN_MS.search(software) else 1.0 if _IN_S in names else None
    form = _compiled(tuple(names), taken)
    if isinstance(form, str):
        return _none(), rejected(found.with_columns(reason=pl.lit(form)))
    return lines.parse(found.with_columns(text), form, clock)


@lru_cache(maxsize=64)
def _compiled(names: tuple[str, ...], taken: float | None) -> TextFormat | str:
    """The format of lines with these fields, or a sentence saying why they are not read.

    taken   factor of time-taken to seconds, where it is known
    """
    if len(names) > _MOST:
        return f"#Fields names more than {_MOST} fields"
    known = {**_table(), "time-taken": {"duration_s": {"times": taken}} if taken else {}}
    parts, readings, place = [], dict[str, list[Reading]](), 0
    while place < len(names):
        name, after = names[place], names[place + 1 : place + 2]
        if name in _DATES and after == (_DATES[name][0],) and "at" not in readings:
            how = {"time": _AT, "zone": _DATES[name][1]}
            readings["at"] = [reading("finished_at", "at", how)]
            parts.append(f"(?P<at>{_DATE}[ \\t]+{_TIME})")
            place += 2
            continue
        if name in known and name not in readings:
            bare, quoted = f"f{place}", f"q{place}"
            parts.append(f'(?:"(?P<{quoted}>(?:[^"]|"")*)"|(?P<{bare}>[^ \\t"][^ \\t]*))')
            readings[name] = [
                reading(column, group, how) for column, how in known[name].items() for group in (bare, quoted)
            ]
        else:
            parts.append(_ANY)
        place += 1
    if "at" not in readings:
        return "no date and time in #Fields" if names else "no #Fields above it"
    order = [one for name in ("at", *known) for one in readings.get(name, ())]
    pattern = "^" + "[ \\t]+".join(parts) + "[ \\t]*$"
    return TextFormat("w3c_extended", "W3C extended log", pattern, tuple(order))


def _none() -> pl.DataFrame:
    schema = {"line": pl.UInt64(), **{name: column.dtype for name, column in record("access").items()}}
    return pl.DataFrame(schema=schema)


@cache
def _table() -> Mapping[str, Any]:
    path = folders.definitions("sources", "w3c_fields.yaml")
    table: Mapping[str, Any] = declared.parsed(path)
    return table

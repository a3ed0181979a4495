"""Lines of text -> rows of the access record, by a format: one regular expression, applied column-wise.

Of large files, what the format's template reads goes a quicker way (see template.py) to the same rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import polars as pl

from tracemortem.sources import blocks, json_fields, readings, wrapped
from tracemortem.sources.batch import REJECTS, Batch, rejected
from tracemortem.sources.clock import Clock
from tracemortem.sources.json_template import json_template
from tracemortem.sources.readings import Reading
from tracemortem.sources.records import record
from tracemortem.sources.template import template

_YEARS = (1970, 2200)
_LARGE = 8 << 20  # bytes of a file's first block from which on compiled loops make up for their start

IN_UTC = Clock()


@dataclass(frozen=True)
class TextFormat:
    """A compiled access-log format.

    pattern   matches the whole line; in the common part of the syntaxes of Rust's regex and RE2; "" for JSON
    readings  where several give one column, the first that is not null wins
    comment   lines that begin with it are no records; "": there are none
    needs     of JSON lines: paths that every line must hold; readings then name paths, as request.uri
    is_last_resort  taken only where no other format reads as many lines
    keeps_stamp  a time right before the line, as containers put there too, is part of it
    is_own    declared by the user: taken before those that travel with the code and read as many lines
    """

    name: str
    title: str
    pattern: str
    readings: tuple[Reading, ...]
    comment: str = ""
    needs: tuple[str, ...] = ()
    is_last_resort: bool = False
    keeps_stamp: bool = False
    is_own: bool = False

    @property
    def columns(self) -> frozenset[str]:
        """The columns of the access record that a line gives."""
        return frozenset(reading.to for reading in self.readings)


def read(stream: BinaryIO, form: TextFormat, clock: Clock = IN_UTC) -> Iterator[Batch]:
    """The lines of an access log as rows of `access`; each is a row or a reject, blank ones are neither.

    clock   of times that the format writes without a zone, or counted from a start it does not tell
    """
    source = clock.source if is_counted(form) else ""
    is_large = False
    for block, bare in wrapped.unwrapped(stream, keeps_stamp=form.keeps_stamp):
        if block is not None and bare is None:
            is_large |= len(block.text) >= _LARGE
            made, rejects = (_walked if is_large else _matched)(block, form, clock)
        elif bare is not None:
            made, rejects = parse(bare, form, clock)
        if block is not None and block.overlong is not None:
            rejects = blocks.overlong(block)
        bytes_read = block.bytes_read if block is not None else 0
        yield Batch({"access": made}, rejects, made.height + rejects.height, bytes_read, made.height, source)


def is_counted(form: TextFormat) -> bool:
    """Whether the lines tell their times from a beginning only, which the clock knows."""
    return any(reading.is_counted for reading in form.readings)


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
    return rows(lines, _found(lines["text"], form), form, clock)


def rows(
    lines: pl.DataFrame, found: pl.DataFrame, form: TextFormat, clock: Clock, *, is_plain: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of `access`, and rejects, out of lines and the fields found in them, by group or path.

    found     a path that no line holds need not be there
    is_plain  no escape is in them
    """
    values: dict[str, list[pl.Series]] = {}
    faults: list[pl.Series | None] = [_unmatched(found, form)]
    told = {column.name for column in found if column.null_count() < len(column)}
    for reading in form.readings:
        if reading.group not in told or (reading.minus and reading.minus not in told):
            continue
        text = readings.text(found[reading.group], reading)
        value = readings.value(text, reading, clock)
        if reading.minus:
            value = (value - readings.value(found[reading.minus], reading, clock)).round(9)
        values.setdefault(reading.to, []).append(value)
        if reading.extract is None and reading.list is None:
            faults.append(readings.fault(text, value, reading))
    made = lines.select(
        "line",
        *(
            pl.coalesce(values[name]).alias(name)
            if name in values
            else pl.lit(None, column.dtype).alias(name)
            for name, column in record("access").items()
        ),
    )
    escapes = {reading.to: reading.escape for reading in form.readings}
    if "at" in lines.columns:
        is_timed = pl.any_horizontal(pl.col("started_at", "finished_at").is_not_null())
        made = made.with_columns(finished_at=pl.when(is_timed).then("finished_at").otherwise(lines["at"]))
    made = _with_both_ends(made)
    if not is_plain:
        made = made.with_columns(
            readings.unescaped(made[name], escapes[name]) for name in _texts(made) if name in values
        )
    reason = pl.select(
        pl.coalesce(*(fault for fault in faults if fault is not None), _no_time(made))
    ).to_series()
    is_kept = reason.is_null()
    if is_kept.all():
        return made, pl.DataFrame(schema=dict(REJECTS))
    return made.filter(is_kept), rejected(lines.with_columns(reason=reason).filter(~is_kept))


def _matched(block: blocks.Block, form: TextFormat, clock: Clock) -> tuple[pl.DataFrame, pl.DataFrame]:
    return parse(blocks.lines(block), form, clock)


def _walked(block: blocks.Block, form: TextFormat, clock: Clock) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows and rejects of a block, by the format's template where it has one; the rest by its pattern."""
    from tracemortem.sources import scanned

    text = blocks.text(block)
    walked = json_template(text, form.needs, form.readings) if form.needs else template(form.pattern)
    if walked is None or form.comment:
        return _matched(block, form, clock)
    scan = scanned.scan(text, block.first_line, walked)
    is_plain = not any(sign.encode() in text for sign in readings.signs(form.readings))
    if scan.is_read.all():
        return rows(scan.lines, scan.found, form, clock, is_plain=is_plain)
    quick = rows(scan.lines.filter(scan.is_read), scan.found, form, clock, is_plain=is_plain)
    exact = parse(scan.lines.filter(~scan.is_read), form, clock)
    return pl.concat([quick[0], exact[0]]), pl.concat([quick[1], exact[1]]).sort("line")


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


def _no_time(made: pl.DataFrame) -> pl.Series:
    ends = pl.col("started_at", "finished_at")
    return made.select(
        pl.when(pl.all_horizontal(ends.is_null()))
        .then(pl.lit("no time"))
        .when(~pl.all_horizontal(ends.dt.year().is_between(*_YEARS).fill_null(value=True)))
        .then(pl.lit("the time is out of all reason"))
    ).to_series()


def _with_both_ends(made: pl.DataFrame) -> pl.DataFrame:
    """Start and end, whichever the line lacks worked out of the other and the duration."""
    duration = (pl.col("duration_s") * 1e6).round().cast(pl.Int64).cast(pl.Duration("us"))
    return made.with_columns(
        started_at=pl.coalesce("started_at", pl.col("finished_at") - duration),
        finished_at=pl.coalesce("finished_at", pl.col("started_at") + duration),
        duration_s=pl.coalesce(
            "duration_s", (pl.col("finished_at") - pl.col("started_at")) / pl.duration(seconds=1)
        ),
    )


def _texts(made: pl.DataFrame) -> list[str]:
    return [name for name, dtype in made.schema.items() if dtype == pl.String]

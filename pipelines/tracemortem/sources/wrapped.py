"""What containers and shippers put around a line of a log, found by content and peeled off."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import polars as pl

from tracemortem.sources import blocks, json_fields
from tracemortem.sources.batch import TIME
from tracemortem.sources.blocks import Block

_AT_LEAST = 0.5
_LOOKED_AT = 200
_DEEPEST = 5
_COLOUR = r"\x1b\[[0-9;?]*[A-Za-z]"
_DOCKER = r'^\s*\{"log":".*"time":"[^"]*".*\}\s*$'
_STAMP = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})"
_AGO = r"[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}"  # RFC 3164: without a year, and so no time
# kind -> what stands before the line; groups at and full where there is such a thing
_BEFORE = {
    "cri": rf"^(?P<at>{_STAMP}) (?P<stream>stdout|stderr) (?P<full>[PF])(?::\S*)? (?P<text>.*)$",
    "kubectl": r"^\[pod/[^\]]+\] (?P<text>.*)$",
    "compose": r"^[A-Za-z0-9][A-Za-z0-9_.-]* +\| (?P<text>.*)$",
    "syslog_5424": rf"^(?:<[0-9]+>)?1 (?P<at>{_STAMP}) \S+ \S+ \S+ \S+ (?:-|(?:\[[^\]]*\])+) (?P<text>.*)$",
    "syslog_3164": rf"^(?:<[0-9]+>)?(?:{_AGO}|(?P<at>{_STAMP})) \S+ [^\s:\[\]]+(?:\[\d+\])?: (?P<text>.*)$",
    "stamp": rf"^(?P<at>{_STAMP}) (?P<text>.*)$",
}


def layers(texts: pl.Series, *, keeps_stamp: bool = False) -> tuple[str, ...]:
    """What is around the lines, outermost first: docker, cri, kubectl, compose, syslog, stamp, colours.

    keeps_stamp   a time right before the line is its own
    """
    seen = texts.filter(texts.str.strip_chars() != "").head(_LOOKED_AT)
    frame = pl.DataFrame({"text": seen}, schema={"text": pl.String()}).with_row_index("line", 1)
    frame = frame.cast({"line": pl.UInt64()})
    found: list[str] = []
    while len(found) < _DEEPEST and (kind := _outermost(frame["text"])):
        found.append(kind)
        frame = _without(frame, kind).select("line", "text")
    if keeps_stamp and found and found[-1] == "stamp":
        found.pop()
    return tuple(found)


def unwrapped(
    stream: BinaryIO, *, keeps_stamp: bool = False
) -> Iterator[tuple[Block | None, pl.DataFrame | None]]:
    """The blocks of a stream and their lines, bare: columns line, text and at. keeps_stamp: as of `layers`.

    The lines are None where nothing is around them: they are bare as they stand in the block. `at` tells when
    a line was taken down; it is null where nothing around the line says so.

    A line that a container runtime cut in pieces is whole again, and has the number of its first piece.
    Pieces whose end has not come by the end of the stream are given last, without a block.
    """
    around: tuple[str, ...] | None = None
    pending = pl.DataFrame(schema={"line": pl.UInt64(), "text": pl.String()})
    for block in blocks.blocks(stream):
        if block.overlong is not None:
            yield block, pending.clear()
            continue
        if around is None:
            texts = blocks.lines(block)["text"].head(_LOOKED_AT * 2)
            around = layers(texts, keeps_stamp=keeps_stamp)
        if not around:
            yield block, None
            continue
        whole, pending = _peeled(pl.concat([pending, blocks.lines(block)]), around)
        yield block, whole
    if around and pending.height:
        yield None, _peeled(pending, around, is_last=True)[0]


def bare(texts: Sequence[str], *, keeps_stamp: bool = False) -> pl.Series:
    """Lines without what is around them, for a look at the beginning of a file."""
    lines = pl.DataFrame({"text": texts}, schema={"text": pl.String()}).with_row_index("line", 1)
    lines = lines.cast({"line": pl.UInt64()})
    around = layers(lines["text"], keeps_stamp=keeps_stamp)
    return _peeled(lines, around, is_last=True)[0]["text"] if around else lines["text"]


def _outermost(texts: pl.Series) -> str | None:
    if texts.str.contains(_COLOUR).any():
        return "colours"
    kinds = {"docker": _DOCKER, **_BEFORE}
    for kind, pattern in kinds.items():
        if len(texts) and texts.str.contains(pattern).sum() >= _AT_LEAST * len(texts):
            return kind
    return None


def _peeled(
    lines: pl.DataFrame, around: Sequence[str], *, is_last: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The bare lines, and those, as they were, of which the end is still to come."""
    frame, raw = lines.with_columns(at=pl.lit(None, TIME)), lines
    waiting = lines.clear()
    for number, kind in enumerate(around):
        frame = _without(frame, kind)
        if "piece_of" in frame.columns:
            frame, lacking = _joined(frame, is_last=is_last or number > 0)
            waiting = raw.filter(pl.col("line").is_in(lacking.implode()))
    return frame.select("line", "text", "at"), waiting


def _without(frame: pl.DataFrame, kind: str) -> pl.DataFrame:
    """The lines without one layer; with piece_of (the stream) and is_full where it may cut lines up."""
    texts = frame["text"]
    if kind == "colours":
        return frame.with_columns(pl.col("text").str.replace_all(_COLOUR, ""))
    if kind == "docker":
        found = json_fields.extracted(texts, ["log", "time"], ["log", "time", "stream"])
        found = found.select(
            text=pl.col("log").str.strip_suffix("\n").str.strip_suffix("\r"),
            at="time",
            stream="stream",
            full=pl.col("log").str.ends_with("\n"),
        )
    else:
        found = texts.str.extract_groups(_BEFORE[kind]).struct.unnest()
        if "full" in found.columns:
            found = found.with_columns(pl.col("full") == "F")
    at = _time(found["at"]) if "at" in found.columns else pl.Series([None] * len(texts), dtype=TIME)
    before = frame["at"] if "at" in frame.columns else at
    peeled = frame.with_columns(
        text=pl.select(pl.coalesce(found["text"], texts)).to_series(),
        at=pl.select(pl.coalesce(before, at)).to_series(),
    )
    if "full" not in found.columns:
        return peeled
    return peeled.with_columns(piece_of=found["stream"], is_full=found["full"].fill_null(value=True))


def _joined(pieces: pl.DataFrame, *, is_last: bool) -> tuple[pl.DataFrame, pl.Series]:
    """Lines out of their pieces, and the numbers of the lines whose last piece is not among them."""
    none = pl.Series([], dtype=pl.UInt64)
    if pieces["is_full"].all():
        return pieces.drop("piece_of", "is_full"), none
    begins = pl.col("is_full").shift(1, fill_value=True).cum_sum().over("piece_of")
    whole = (
        pieces.with_columns(of=begins)
        .group_by("piece_of", "of", maintain_order=True)
        .agg(
            pl.col("line").first(),
            pl.col("text").str.join(""),
            pl.col("at").first(),
            pl.col("is_full").last(),
            numbers="line",
        )
    )
    if is_last:
        return whole.select("line", "text", "at").sort("line"), none
    lacking = whole.filter(~pl.col("is_full"))["numbers"].explode()
    return whole.filter("is_full").select("line", "text", "at").sort("line"), lacking.cast(pl.UInt64)


def _time(texts: pl.Series) -> pl.Series:
    return texts.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%#z", time_unit="us", time_zone="UTC", strict=False)

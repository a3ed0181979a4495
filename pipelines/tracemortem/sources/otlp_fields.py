"""What every OTLP record has: ids and times. And how a record that cannot be stored is told."""

import numpy as np
import numpy.typing as npt
import polars as pl

from tracemortem.sources.batch import EXCERPT, REJECTS, TIME

Lines = npt.NDArray[np.uint64]


def ids(raw: pl.Series, size: int) -> pl.Series:
    """Ids of `size` bytes as lower-case hex, also all zeros; null where there is none, or no such id.

    raw   hex in either case, or base64, as protobuf's own JSON writes bytes (Tempo)
    """
    given, digits = raw.replace("", None), f"^[0-9a-f]{{{2 * size}}}$"
    if given.str.contains(digits).all():
        return given
    lower = given.str.to_lowercase()
    is_hex = lower.str.contains(digits)
    decoded = raw.str.decode("base64", strict=False)
    choices = pl.DataFrame({"lower": lower, "is_hex": is_hex, "decoded": decoded})
    is_base64 = pl.col("decoded").bin.size() == size
    return choices.select(
        pl.when("is_hex").then("lower").when(is_base64).then(pl.col("decoded").bin.encode("hex"))
    ).to_series()


def known(column: str, size: int) -> pl.Expr:
    """An id, null where it is all zeros, which in OTLP means that there is none."""
    return pl.when(pl.col(column) != "00" * size).then(pl.col(column))


def nanoseconds(raw: str) -> pl.Expr:
    """Nanoseconds since 1970 as Int64; null where none (or 0) are given, no number, or too many (2262)."""
    number = pl.col(raw).cast(pl.Int64, strict=False)
    return pl.when(number > 0).then(number)


def instant(column: str) -> pl.Expr:
    """The instant of a column of nanoseconds since 1970; what is below a microsecond is cut off."""
    return (pl.col(column) // 1000).cast(TIME)


def given(text: pl.Expr) -> pl.Expr:
    """A text, null where it is empty."""
    return pl.when(text != "").then(text)


def why_no_id(raw: str, read: str, size: int) -> pl.Expr:
    """Why an id that is given is none; null where it is one, or none is given."""
    told = pl.format(f"{raw} is no id of {size} bytes: {{}}", pl.col(raw).str.slice(0, 40))
    return pl.when((pl.col(raw) != "") & pl.col(read).is_null()).then(told)


def why_no_time(raw: str, read: str) -> pl.Expr:
    """Why there is no time: none is given, or what is given is none; null where there is one."""
    text = pl.col(raw).cast(pl.String)
    told = pl.format(f"{raw} is no time in nanoseconds: {{}}", text.str.slice(0, 40))
    is_absent = text.fill_null("").is_in(["", "0"])
    return pl.when(pl.col(read).is_null()).then(pl.when(is_absent).then(pl.lit(f"no {raw}")).otherwise(told))


def rejected(lost: pl.DataFrame, reason: pl.Series, *shown: str) -> pl.DataFrame:
    """Rejects of rows, of which columns `shown` are the excerpt.

    lost   column line, and those shown;  reason   why, a row each
    """
    texts = [pl.format(f"{name}={{}}", pl.col(name).cast(pl.String).fill_null("")) for name in shown]
    excerpt = pl.concat_str(texts, separator=" ").str.slice(0, EXCERPT)
    return lost.select("line", reason=reason, excerpt=excerpt).cast(pl.Schema(REJECTS))

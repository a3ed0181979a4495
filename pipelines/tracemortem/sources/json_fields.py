"""JSON lines -> columns of text, one for each path that is wanted, column-wise."""

from collections.abc import Sequence

import polars as pl

_ONE_BY_ONE = 64
_NUMBER = "tracemortem: number of the line"


def extracted(texts: pl.Series, needs: Sequence[str], paths: Sequence[str]) -> pl.DataFrame:
    """The values under the paths as columns of that name, numbers as their text.

    texts    a JSON object a line
    needs    paths a line must hold, and not as null
    paths    keys joined by dots; a last part of 0 is the first entry of a list, * all of them, as a list
    returns  a row for each text; all null where it is no JSON object, lacks what it needs, or holds an
             object or a list where a text or a number is wanted
    """
    wanted = list(dict.fromkeys([*paths, *needs]))
    decoded = _decoded(texts, _shape(wanted))
    columns = decoded.to_frame("json").select(_at(path).alias(path) for path in wanted)
    is_whole = columns.select(pl.all_horizontal(pl.col(*needs).is_not_null())).to_series()
    return columns.select(pl.when(is_whole).then(pl.col(path)).alias(path) for path in dict.fromkeys(paths))


def _shape(paths: Sequence[str]) -> pl.Struct:
    tree: dict[str, list[str]] = {}
    for path in paths:
        first, _, rest = path.partition(".")
        tree.setdefault(first, []).append(rest)
    return pl.Struct({key: _within([rest for rest in below if rest]) for key, below in tree.items()})


def _within(below: Sequence[str]) -> pl.DataType:
    if not below:
        return pl.String()
    return pl.List(pl.String()) if below[0] in {"0", "*"} else _shape(below)


def _at(path: str) -> pl.Expr:
    value = pl.col("json")
    for part in path.split("."):
        if part == "0":
            value = value.list.get(0, null_on_oob=True)
        elif part != "*":
            value = value.struct.field(part)
    return value


def _decoded(texts: pl.Series, shape: pl.Struct) -> pl.Series:
    """The texts as structs. Polars refuses all if one is bad: they are halved until it stands alone."""
    bare = texts.str.strip_chars()
    is_object = bare.str.starts_with("{") & bare.str.ends_with("}")
    if is_object.all():
        found = _together(texts, shape)
        if found is not None:
            return found
        if len(texts) == 1:
            return pl.Series([None], dtype=shape)
    elif len(texts) <= _ONE_BY_ONE:
        kept = pl.select(pl.when(is_object).then(texts).otherwise(pl.lit('{"":0}'))).to_series()
        return _decoded(kept, shape)
    half = len(texts) // 2
    return pl.concat([_decoded(texts[:half], shape), _decoded(texts[half:], shape)])


def _together(texts: pl.Series, shape: pl.Struct) -> pl.Series | None:
    """All at once; None where one is bad, or two broken ones make a whole (each line carries its number)."""
    number = pl.int_range(len(texts), dtype=pl.Int64)
    body = pl.col("text").str.strip_chars_start().str.slice(1)
    numbered = texts.to_frame("text").select(pl.format('{{"{}":{},{}', pl.lit(_NUMBER), number, body))
    with_number = pl.Struct([*shape.fields, pl.Field(_NUMBER, pl.Int64())])
    try:
        found = numbered.to_series().str.json_decode(with_number)
    except pl.exceptions.ComputeError:
        return None
    numbers = found.struct.field(_NUMBER)
    if (
        len(found) != len(texts)
        or numbers.null_count()
        or not (numbers == pl.int_range(len(texts), eager=True)).all()
    ):
        return None
    return (
        found.to_frame("json")
        .select(pl.struct(*(pl.col("json").struct.field(one.name) for one in shape.fields)))
        .to_series()
    )

"""OTLP attribute lists -> columns: each from the first of its names that is there and not null.

No Python per row: keys are looked up column-wise, the positions of each wanted key are scattered over their
owners into an index, and the values taken by it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from tracemortem.sources.otlp_shape import Attributes
from tracemortem.sources.records import WRITTEN, Column, record

Positions = npt.NDArray[np.int64]
Used = Counter[tuple[str, str]]  # (column, attribute) -> rows that took the column from that attribute
# attribute -> its values by the fields of an AnyValue they stood in; fields that do not occur left out
Named = Mapping[str, Mapping[str, pl.Series]]

_LIST = "arrayValue"
_KINDS = ("stringValue", "intValue", "doubleValue", "boolValue", _LIST)
_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_TEXT, _INT, _REAL, _FLAG, _JOINED = (pl.col(kind) for kind in _KINDS)
_AS_TEXT = {
    "stringValue": pl.when(_TEXT != "").then(_TEXT),
    "intValue": _INT,
    "doubleValue": _REAL.cast(pl.String),
    "boolValue": _FLAG.cast(pl.String),
    _LIST: pl.when(_JOINED != "").then(_JOINED),
}
_AS_REAL = {
    "doubleValue": _REAL,
    "intValue": _INT.cast(pl.Float64, strict=False),
    "stringValue": _TEXT.cast(pl.Float64, strict=False),
}
_AS_INT = {
    "intValue": _INT.cast(pl.Int64, strict=False),
    "doubleValue": pl.when(_REAL.floor() == _REAL).then(_REAL.cast(pl.Int64, strict=False)),
    "stringValue": _TEXT.cast(pl.Int64, strict=False),
}
_AS_FLAG = {
    "boolValue": _FLAG,
    "stringValue": _TEXT.str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean()),
    "intValue": _INT.replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean()),
}
# as Rust and Go print a duration; both signs that stand for micro
_WITH_UNIT = r"^([0-9]+(?:\.[0-9]+)?) ?(ns|us|\u00b5s|\u03bcs|ms|s)$"
_SECONDS = {"ns": 1e-9, "us": 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6, "ms": 1e-3, "s": 1.0}
_AS_DURATION = {
    "stringValue": (
        _TEXT.str.extract(_WITH_UNIT, 1).cast(pl.Float64)
        * _TEXT.str.extract(_WITH_UNIT, 2).replace_strict(_SECONDS, default=None, return_dtype=pl.Float64())
    ).round(12)  # 35.2 ms are 0.0352 s
}


@dataclass(frozen=True)
class Wanted:
    """A column to be made of attributes. names: (attribute, factor to the column's unit), newest first."""

    column: str
    dtype: pl.DataType
    names: tuple[tuple[str, float], ...]


def of_record(columns: Mapping[str, Column]) -> list[Wanted]:
    """What a record declares to come `from:` attributes of the thing itself."""
    return [Wanted(name, column.dtype, column.aliases) for name, column in columns.items() if column.aliases]


def of_resource(columns: Mapping[str, Column]) -> list[Wanted]:
    """What a record declares to come from `labels:`, which in OTLP are attributes of the resource."""
    return [
        Wanted(name, column.dtype, tuple((label, 1.0) for label in column.labels))
        for name, column in columns.items()
        if column.labels
    ]


def names(of: Attributes) -> list[str]:
    """The attributes that are read of such a list, each once."""
    declared = record(of.record)
    wanted = of_record(declared) if of.is_own else of_resource(declared)
    return list(dict.fromkeys(name for one in wanted for name, _ in one.names))


def unnest(lists: pa.ListArray) -> tuple[pa.Array, Positions]:
    """What stands in the lists, one after another, and for each the position of the list it stands in."""
    return lists.flatten(), pc.list_parent_indices(lists).to_numpy()


def regrouped(items: pa.Array, owners: Positions, height: int) -> pa.ListArray:
    """Items as lists again: the reverse of unnest. height: how many lists there are."""
    ends = np.cumsum(np.bincount(owners, minlength=height))
    return pa.ListArray.from_arrays(pa.array(np.concatenate(([0], ends)), pa.int32()), items)


def texts(values: pa.StructArray) -> pl.Series:
    """AnyValues as texts: numbers and truth values written out, lists of strings joined; else null."""
    return _typed(_parts(_children(values), None), pl.String(), 1.0, len(values))


def unread(lists: pa.ListArray, wanted: Iterable[Wanted]) -> Positions:
    """The lists that hold a wanted attribute with a value of none of the kinds read here."""
    items, owners = unnest(lists)
    is_read = pa.array(np.zeros(len(items), dtype=bool))
    for child in _children(pc.struct_field(items, "value")).values():
        is_read = pc.or_(is_read, pc.is_valid(child))
    if is_read.true_count == len(items):
        return np.array([], dtype=np.int64)
    names = pa.array([name for one in wanted for name, _ in one.names], pa.string())
    is_lost = pc.and_not(pc.is_in(pc.struct_field(items, "key"), value_set=names), is_read)
    return np.unique(owners[is_lost.to_numpy(zero_copy_only=False)])


def pivot(lists: pa.ListArray, wanted: Sequence[Wanted]) -> tuple[pl.DataFrame, Used]:
    """The wanted columns, a row a list; and which of their names they were taken from.

    lists    list<struct<key, value>> as declared in otlp_shape
    """
    return columns(named(lists, wanted), wanted, len(lists))


def named(lists: pa.ListArray, wanted: Iterable[Wanted]) -> Named:
    """Of each wanted name that occurs: its values, an entry a list; of two in a list the last counts."""
    items, owners = unnest(lists)
    children = _children(pc.struct_field(items, "value"))
    names = list(dict.fromkeys(name for one in wanted for name, _ in one.names))
    found = {}
    for name, positions in _positions(pc.struct_field(items, "key"), names):
        index = np.full(len(lists), -1, dtype=np.int64)
        index[owners[positions]] = positions
        found[name] = _parts(children, pa.array(index, mask=index < 0))
    return found


def columns(found: Named, wanted: Iterable[Wanted], height: int) -> tuple[pl.DataFrame, Used]:
    """The wanted columns of so many rows; and which of their names they were taken from.

    What cannot be a value of the column's type (a word for a number, an empty text, NaN) is null, and the
    next name is asked.
    """
    made: list[pl.Series] = []
    used: Used = Counter()
    for one in wanted:
        column = pl.Series([None], dtype=one.dtype).new_from_index(0, height)
        for name, times in one.names:
            if name not in found:
                continue
            typed = _typed(found[name], one.dtype, times, height)
            is_first = column.null_count() == height
            filled = typed if is_first else column.zip_with(column.is_not_null(), typed)
            if taken := column.null_count() - filled.null_count():
                used[one.column, name] = taken
            column = filled
        made.append(column.alias(one.column))
    return pl.DataFrame(made), used


def _children(values: pa.StructArray) -> dict[str, pa.Array]:
    return {kind: pc.struct_field(values, kind) for kind in _KINDS}


def _positions(keys: pa.Array, names: list[str]) -> Iterable[tuple[str, Positions]]:
    """Of each name that occurs among the keys: where, ascending."""
    found = pc.index_in(keys, value_set=pa.array(names, pa.string()))
    number = found.fill_null(len(names)).to_numpy().astype(np.int16)  # numpy sorts 16 bits by radix
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=len(names) + 1))
    for name, start, end in zip(names, np.concatenate(([0], ends)), ends, strict=False):
        if start < end:
            yield name, order[start:end]


def _parts(children: Mapping[str, pa.Array], index: pa.Array | None) -> dict[str, pl.Series]:
    """The values at an index, by their kind; kinds that do not occur there left out."""
    parts = {}
    for kind, child in children.items():
        if child.null_count == len(child):
            continue
        taken = child if index is None else child.take(index)
        if taken.null_count == len(taken):
            continue
        parts[kind] = pl.Series(_joined(taken) if kind == _LIST else taken)
    return parts


def _joined(arrays: pa.StructArray) -> pa.Array:
    """Lists of strings as one text each, as HTTP joins a header that was sent twice; other items left out."""
    lists = pc.struct_field(arrays, "values")
    items, owners = unnest(lists)
    strings = pc.struct_field(items, "stringValue")
    is_string = strings.is_valid()
    kept = owners[is_string.to_numpy(zero_copy_only=False)]
    return pc.binary_join(regrouped(strings.filter(is_string), kept, len(lists)), ", ")


def _typed(parts: Mapping[str, pl.Series], dtype: pl.DataType, times: float, height: int) -> pl.Series:
    """What the parts are as values of dtype; null where they are none."""
    ways = {pl.String: _AS_TEXT, pl.Float64: _AS_REAL, pl.Boolean: _AS_FLAG}.get(type(dtype), _AS_INT)
    if times == WRITTEN:
        ways = _AS_DURATION
    choices = [way for kind, way in ways.items() if kind in parts]
    if not choices:
        return pl.Series([None], dtype=dtype).new_from_index(0, height)
    value = pl.coalesce(choices)
    if times not in (1.0, WRITTEN):
        value = value * times
    if dtype == pl.Float64:
        value = pl.when(value.is_finite()).then(value)
    return pl.DataFrame(parts).select(value.cast(dtype, strict=False)).to_series()

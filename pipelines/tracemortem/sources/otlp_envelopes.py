"""Lines -> OTLP envelopes in Arrow: blocks at once where they are as the Collector writes them, else by line.

Both ways give the same. The fast one (Arrow's JSON reader, columns declared) refuses what it could misread;
the exact one puts a line into the Collector's writing. A block that is refused is halved, and halved again,
so that one bad line does not slow down its neighbours.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from tracemortem.sources import attributes
from tracemortem.sources.attributes import unnest
from tracemortem.sources.otlp_fields import Lines
from tracemortem.sources.otlp_odd import Lost, canonical
from tracemortem.sources.otlp_shape import ENVELOPE, arrow
from tracemortem.sources.records import record

_HALVED_DOWN_TO = 256 << 10  # bytes: below, going line by line costs less than another try
_CHUNKS = 4  # parsed at the same time


@dataclass(frozen=True)
class Envelopes:
    """Some lines, read. items: structs as otlp_shape.ENVELOPE declares them; lines: the number of each."""

    items: pa.StructArray
    lines: Lines
    lost: list[Lost]


def envelopes(lines: Iterable[tuple[int, bytes]]) -> Envelopes:
    """The envelopes of lines, each with its number, in order; blank lines are none."""
    # NULs are what copytruncate leaves in a file
    stripped = ((number, line.strip(b" \t\r\0")) for number, line in lines)
    filled = [(number, line) for number, line in stripped if line]
    if not filled:
        return Envelopes(pa.nulls(0, _envelope()), np.array([], dtype=np.uint64), [])
    parts = list(_read(filled))
    return Envelopes(
        pa.concat_arrays([part.items for part in parts]),
        np.concatenate([part.lines for part in parts]),
        [lost for part in parts for lost in part.lost],
    )


def _read(lines: list[tuple[int, bytes]], *, is_odd: bool = False) -> Iterator[Envelopes]:
    """The lines in pieces; is_odd: they are known to be refused."""
    items = None if is_odd else _fast([line for _, line in lines])
    if items is not None:
        yield _checked(items, lines)
    elif len(lines) <= 1 or sum(len(line) for _, line in lines) < _HALVED_DOWN_TO:
        yield _exact(lines)
    else:
        middle = len(lines) // 2
        # one odd line in a block, or a producer with its own ways: three lines tell, and save a try per half
        is_odd = is_odd or all(_fast([lines[at][1]]) is None for at in (0, middle, -1))
        yield from _read(lines[:middle], is_odd=is_odd)
        yield from _read(lines[middle:], is_odd=is_odd)


def _fast(lines: list[bytes]) -> pa.StructArray | None:
    """The lines, or None where one of them is not quite as the Collector writes it."""
    text = b"\n".join(lines)
    # No object reaches over "}", line end, "{". So where all lines begin and end like this, and there are as
    # many objects as lines, each line is one. (Arrow takes several objects on a line, and objects of several
    # lines; and it crashes, in 26.0, on a text that begins with `null`.)
    if not (text.startswith(b"{") and text.endswith(b"}") and text.count(b"}\n{") == len(lines) - 1):
        return None
    if not text.isascii():  # Arrow would take bytes that are no UTF-8 into its strings
        try:
            text.decode()
        except UnicodeDecodeError:
            return None
    longest = max(map(len, lines))
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(text),
            read_options=pyarrow.json.ReadOptions(block_size=max(len(text) // _CHUNKS, longest) + 2),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=pa.schema(list(_envelope())), unexpected_field_behavior="ignore"
            ),
        )
    except pa.ArrowInvalid:
        return None
    if table.num_rows != len(lines):
        return None
    return table.combine_chunks().to_struct_array().combine_chunks()


def _checked(items: pa.StructArray, lines: list[tuple[int, bytes]]) -> Envelopes:
    """What was read fast; but lines of which something may have been missed are read exactly."""
    numbers = np.array([number for number, _ in lines], dtype=np.uint64)
    doubtful = _doubtful(items)
    if not len(doubtful):
        return Envelopes(items, numbers, [])
    exact = _exact([lines[at] for at in doubtful.tolist()])
    is_sure = np.ones(len(items), dtype=bool)
    is_sure[doubtful] = False
    both = np.concatenate((numbers[is_sure], exact.lines))
    order = np.argsort(both, kind="stable")
    joined = pa.concat_arrays([items.filter(pa.array(is_sure)), exact.items])
    return Envelopes(joined.take(pa.array(order)), both[order], exact.lost)


def _doubtful(items: pa.StructArray) -> attributes.Positions:
    """Rows without anything, and rows with a wanted attribute whose value is of no kind that was declared."""
    columns = {name: pc.struct_field(items, name) for name in ENVELOPE.fields}
    is_empty = np.logical_and.reduce(
        [column.is_null().to_numpy(zero_copy_only=False) for column in columns.values()]
    )
    found = [np.flatnonzero(is_empty)]
    spans, logs = columns["resourceSpans"], columns["resourceLogs"]
    for column, kind in ((spans, "span"), (logs, "log")):
        resources, row_of = unnest(column)
        own = pc.struct_field(resources, ["resource", "attributes"])
        found.append(row_of[attributes.unread(own, attributes.of_resource(record(kind)))])
    resources, row_of = unnest(spans)
    scopes, resource_of = unnest(pc.struct_field(resources, "scopeSpans"))
    items, scope_of = unnest(pc.struct_field(scopes, "spans"))
    lost = attributes.unread(pc.struct_field(items, "attributes"), attributes.of_record(record("span")))
    found.append(row_of[resource_of[scope_of[lost]]])
    return np.unique(np.concatenate(found))


def _exact(lines: list[tuple[int, bytes]]) -> Envelopes:
    numbers, found, lost = canonical(lines)
    return Envelopes(pa.array(found, _envelope()), np.array(numbers, dtype=np.uint64), lost)


@cache
def _envelope() -> pa.DataType:
    return arrow(ENVELOPE)

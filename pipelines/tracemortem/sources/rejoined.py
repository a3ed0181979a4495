"""A record that a rotation cut in two: the end of one file and the beginning of the next, as one line.

The Collector's file exporter rotates by size also in the middle of an object, Apache's rotatelogs in the
middle of a line.
"""

import io

import orjson
import polars as pl

from tracemortem.sources import addresses, registry
from tracemortem.sources.blocks import LONGEST
from tracemortem.sources.clock import Told
from tracemortem.sources.content import Followed
from tracemortem.sources.find import Found
from tracemortem.sources.opened import opened


def rejoined(before: Found, end: int, after: Found, told: Told) -> bytes | None:
    """The line that begins at the end of one file and goes on in the other; None where nothing was cut.

    end      where the last line of `before` begins, in its decompressed content; that line has no end there
    told     what the user says of times that files leave out
    raises   InputError where one of them cannot be read

    It was cut if both make one record together. A writer that was killed leaves the beginning of a record
    too, and the next file then begins with another: what is one by itself is the rest of another only where
    the beginning is none, and no address comes out that is none. Both parts are held, up to LONGEST bytes.
    """
    with opened(after.path) as stream:
        rest = stream.readline(LONGEST + 1)
    with opened(before.path) as stream:
        Followed(stream).skip(end)
        begun = stream.read(LONGEST + 1)
    if max(len(begun), len(rest)) > LONGEST or not rest.strip():
        return None
    is_cut = _is_record(begun + rest, before, told)
    if is_cut and _is_record(rest, before, told):
        is_cut = _is_record(begun + rest, before, told, is_addressed=True) and not _is_record(
            begun, before, told
        )
    return begun + rest if is_cut else None


def _is_record(line: bytes, like: Found, told: Told, *, is_addressed: bool = False) -> bool:
    """Whether a line is one record, as those of that file are. is_addressed: and its peer is an address."""
    if like.text_format is None:
        try:
            return isinstance(orjson.loads(line), dict)
        except orjson.JSONDecodeError:
            return False
    batches = list(registry.batches(io.BytesIO(line), like, told))
    if [sum(batch.stored for batch in batches), sum(batch.records for batch in batches)] != [1, 1]:
        return False
    (peer,) = next(batch.rows["access"] for batch in batches if batch.stored)["peer_address"]
    return (
        not is_addressed or not addresses.parse(pl.Series([peer], dtype=pl.String))["canonical"].has_nulls()
    )

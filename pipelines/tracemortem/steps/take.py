"""One file into the raw tables, whole or not at all: anew, or only what was added to it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple
from typing import BinaryIO, cast

from tracemortem.progress import stage
from tracemortem.sources import find, registry
from tracemortem.sources.apart import are_lines_apart, is_record_a_line
from tracemortem.sources.batch import Batch
from tracemortem.sources.clock import Told
from tracemortem.sources.content import Followed, file_sha256
from tracemortem.sources.opened import opened
from tracemortem.steps.recall import Recalled
from tracemortem.steps.refuse import refuse_without_rows
from tracemortem.warehouse import ledger
from tracemortem.warehouse.ledger import State
from tracemortem.warehouse.load import Load
from tracemortem.warehouse.store import Store


def anew(store: Store, file: find.Found, recalled: Recalled, told: Told, *, is_named: bool) -> int:
    """A file of which nothing was read before; returns its number.

    raises   InputError if it was given by name and gives no row, or cannot be read to its end
    """
    with (
        opened(file.path) as stream,
        store.loading(
            path=file.shown,
            sha256=recalled.packed,
            size=file.path.stat().st_size,
            kind=file.kind,
            format_name=file.format,
        ) as into,
    ):
        _read(store, file, Followed(stream), into, recalled, told, is_named=is_named)
    return into.file_id


def further(
    store: Store, file: find.Found, recalled: Recalled, state: State, told: Told, *, is_named: bool
) -> None:
    """A file that holds more than was read of it. Where each of its lines stands alone, only what was added.

    raises   as anew does
    """
    with (
        _behind(store, file, state) as stream,
        ledger.growing(
            store,
            state,
            kept=(stream.content().lines, stream.content().length),
            path=file.shown,
            size=file.path.stat().st_size,
            kind=file.kind,
            format_name=file.format,
        ) as into,
    ):
        into.sha256 = recalled.packed
        _read(store, file, stream, into, recalled, told, is_named=is_named)


def same(store: Store, file: find.Found, recalled: Recalled, state: State, *, is_named: bool) -> None:
    """A file that was read to its end before, here or elsewhere, packed or not.

    raises   InputError if it was given by name and gave no row
    """
    ledger.moved(
        store,
        state,
        path=file.shown,
        location=_place(file),
        file_sha256=recalled.packed or state.sha256,
        size=file.path.stat().st_size,
    )
    if is_named:
        rows = store.scalar("select rows from meta.input where file_id = $1", [state.file_id])
        refuse_without_rows(store, file, state.file_id, int(str(rows)))


def skip(store: Store, file: find.Found, why: str) -> None:
    """Note a file that is not read. One that is no plain file is not opened: a pipe would never end."""
    size, digest = 0, None
    if file.path.is_file():
        size = file.path.stat().st_size
        with suppress(OSError):  # which is why it is skipped, and is said
            digest = file_sha256(file.path)
    with store.loading(path=file.shown, sha256=digest, size=size, kind="skipped", format_name=why):
        pass


def append(into: Load, batch: Batch) -> None:
    """What one block of a file held into the tables."""
    into.append(
        batch.rows,
        batch.rejects,
        records=batch.records,
        stored=batch.stored,
        bytes_read=batch.bytes_read,
        clock=batch.clock,
        names=batch.names,
    )


@contextmanager
def _behind(store: Store, file: find.Found, state: State) -> Iterator[Followed]:
    """The stream of a file behind what is kept of it."""
    kept = 0
    if are_lines_apart(file) and file.format == state.format:
        with opened(file.path) as raw:
            stream = Followed(raw)
            stream.skip(state.length)
            if state.whole == state.length or stream.ends_line():
                yield stream
                return
        # the last line was still being written; what it gave makes place for the whole, if that is known
        if is_record_a_line(file) or not ledger.rows_beyond(store, state, state.lines):
            kept = state.whole
    with opened(file.path) as raw:
        stream = Followed(raw)
        stream.skip(kept)
        yield stream


def _read(
    store: Store,
    file: find.Found,
    stream: Followed,
    into: Load,
    recalled: Recalled,
    told_times: Told,
    *,
    is_named: bool,
) -> None:
    """What is left of the stream into the tables, and what the file then is into the ledger."""
    with stage(file.shown) as told:
        for batch in registry.batches(cast(BinaryIO, stream), file, told_times):
            append(into, batch)
            told.advance(batch.bytes_read, batch.stored)
    content = stream.rest()
    if recalled.packed is None:  # it may have grown since it was found
        into.sha256, into.size = content.sha256, content.length
    if is_named:  # who names a file wants it read; of one in a folder the report says that it gave none
        refuse_without_rows(store, file, into.file_id, into.stored)
    ledger.note(store, into, location=_place(file), content=astuple(content), beginning=recalled.beginning)


def _place(file: find.Found) -> str:
    return str(file.path.resolve())

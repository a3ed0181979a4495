"""Records that the rotation of a log cut in two are put together again, once both files are loaded."""

import io
from collections.abc import Mapping

from tracemortem.sources import registry, rotated
from tracemortem.sources.apart import are_lines_apart
from tracemortem.sources.blocks import LONGEST
from tracemortem.sources.clock import Told
from tracemortem.sources.find import Found
from tracemortem.sources.rejoined import rejoined
from tracemortem.steps.take import append
from tracemortem.warehouse import ledger
from tracemortem.warehouse.store import Store


def rejoin(store: Store, loaded: Mapping[int, Found], told: Told) -> set[int]:
    """Give each cut record to the file in which it begins, and take what its rest gave from the next.

    loaded   the files of this run, by their numbers
    told     what the user says of times that files leave out
    returns  the numbers of files whose first line belongs to the file before

    Both happen in one transaction. A line that gave nothing is not looked at again, so what is done stays.
    """
    numbers = {file.path: number for number, file in loaded.items()}
    found = set()
    for before, after in rotated.neighbours(numbers):
        one, other = numbers[before], numbers[after]
        is_alike = loaded[one].format == loaded[other].format and are_lines_apart(loaded[one])
        if is_alike and not ledger.gave(store, other, line=1):
            found.add(other)
        elif is_alike and (line := _cut(store, one, loaded, other, told)):
            _put(store, one, loaded[one], line, other, told)
            found.add(other)
    return found


def _cut(store: Store, one: int, loaded: Mapping[int, Found], other: int, told: Told) -> bytes | None:
    """The record that was cut between two files, if one was."""
    state = ledger.latest(store, one)
    if not 0 < state.length - state.whole <= LONGEST:
        return None
    return rejoined(loaded[one], state.whole, loaded[other], told)


def _put(store: Store, one: int, file: Found, line: bytes, other: int, told: Told) -> None:
    state = ledger.latest(store, one)
    [(sha256, size)] = store.run("select sha256, bytes from meta.input where file_id = $1", [one])
    with ledger.growing(
        store,
        state,
        kept=(state.lines, state.whole),
        path=file.shown,
        size=int(str(size)),
        kind=file.kind,
        format_name=file.format,
    ) as into:
        into.sha256 = str(sha256)
        for batch in registry.batches(io.BytesIO(line), file, told):
            append(into, batch)
        into.bytes_read = state.length
        ledger.drop(store, other, line=1)

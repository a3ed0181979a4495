"""What of a file was read before, told by its content: a copy, packed or not, a longer or a shorter one."""

import itertools
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tracemortem.errors import InputError
from tracemortem.sources import find
from tracemortem.sources.content import BEGINNING, Content, Followed, beginning, packed_sha256
from tracemortem.sources.opened import opened
from tracemortem.warehouse import ledger
from tracemortem.warehouse.ledger import State
from tracemortem.warehouse.store import Store


@dataclass(frozen=True)
class Recalled:
    """How a file stands to what was read before.

    how        new; same: read to its end, here or elsewhere; part: the beginning of what was read; grown:
               more than was read
    state      what was read; None where the file is new
    beginning  of its decompressed content, in hex
    packed     hash of the file as it lies; None where that is plain, and so the hash of its content
    """

    how: Literal["new", "same", "part", "grown"]
    state: State | None
    beginning: str
    packed: str | None


def recall(store: Store, file: find.Found, present: Container[int]) -> Recalled:
    """Compare a file with all that was read.

    present   numbers of the files that lie there as well
    raises    InputError where it cannot be read

    Only a file that begins like another is read for it, as far as the other goes. Two logs that lie there
    both may well begin with the same few lines: of less than BEGINNING bytes that makes no part of the other.
    """
    try:
        packed, begins = packed_sha256(file.path), beginning(file.path)
    except OSError as error:
        raise InputError(
            f"{file.shown} cannot be read",
            where=str(file.path),
            why=str(error.strerror),
            fix="check that it is still there, and its permissions",
        ) from error
    if packed is not None and (states := ledger.known(store, packed)):
        latest = _latest(states)
        return Recalled("same" if latest.is_latest else "part", latest, begins, packed)
    akin = ledger.akin(store, begins)
    if not akin:
        return Recalled("new", None, begins, packed)
    with opened(file.path) as stream:
        known, content = _furthest(Followed(stream), akin)
    if known is not None and known.length == content.length:
        return Recalled("same" if known.is_latest else "part", known, begins, packed)
    if known is not None and known.is_latest and (known.length >= BEGINNING or known.file_id not in present):
        return Recalled("grown", known, begins, packed)
    longer = [one for one in akin if one.is_latest and one.length > content.length >= BEGINNING]
    if holder := next((state for state in longer if _holds(state, content)), None):
        return Recalled("part", holder, begins, packed)
    return Recalled("new", None, begins, packed)


def _furthest(stream: Followed, akin: Sequence[State]) -> tuple[State | None, Content]:
    """The longest state that the stream begins with, and its content to a byte beyond the longest of all."""
    found = None
    for length, states in itertools.groupby(sorted(akin, key=lambda one: one.length), lambda one: one.length):
        content = stream.skip(length)
        if alike := [one for one in states if (one.sha256, length) == (content.sha256, content.length)]:
            found = _latest(alike)
    return found, stream.skip(stream.content().length + 1)


def _latest(states: Sequence[State]) -> State:
    return max(states, key=lambda one: one.is_latest)


def _holds(state: State, content: Content) -> bool:
    """Whether what was read of a file begins with this content; it must lie where it lay."""
    try:
        with opened(Path(state.location)) as stream:
            followed = Followed(stream)
            begins_so = followed.skip(content.length).sha256 == content.sha256
            return begins_so and followed.skip(state.length).sha256 == state.sha256
    except InputError:  # gone or changed since, so there is nothing left to compare with
        return False

"""Where a run writes: the folders it needs, and no other run in the same place meanwhile."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from tracemortem.errors import SettingError, WarehouseError
from tracemortem.settings import Settings


@contextmanager
def taken(settings: Settings) -> Iterator[None]:
    """Within this context the folders are there, and no other run works on the same DuckDB file.

    raises   SettingError if a folder cannot be made or written to, WarehouseError if another run is at work

    The steps of a run open and close the work file one after the other; a second run between two of them
    would add to it, publish it half made, or take it away.
    """
    published = settings.published()
    if settings.out is not None:
        make("--out", Path(settings.out))
    make("--out" if settings.db is None else "--db", published.parent)
    lock = published.with_name(f"{published.name}.lock").resolve()
    with _held(lock, published) as stream:
        stream.truncate(0)
        stream.write(str(os.getpid()))
        stream.flush()
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def make(option: str, folder: Path) -> None:
    """The folder that an option names, made if need be; raises SettingError if it cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _no_place(option, folder, error.strerror or str(error)) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _no_place(option, folder, "it may not be written to")


def _no_place(option: str, folder: Path, why: str) -> SettingError:
    return SettingError(
        f"nothing can be written into {folder}",
        where=option,
        why=why,
        fix="name a folder that may be written to, or that can be made",
    )


def _held(lock: Path, published: Path) -> TextIO:
    """The lock file, locked for as long as it stays open, and there under its name."""
    while True:
        stream = lock.open("a+", encoding="utf-8")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with stream:
                stream.seek(0)
                holder = stream.read() or "not known"
            raise WarehouseError(
                f"{published.name} is in use",
                where=str(published),
                why=f"another run (process {holder}) is at work on it",
                fix="wait until that run has ended, or name another file or folder",
            ) from None
        if lock.exists() and os.path.samestat(os.fstat(stream.fileno()), lock.stat()):
            return stream
        stream.close()  # its holder removed it after we had opened it

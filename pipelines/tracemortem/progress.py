"""What a person sees of long work: bars on a terminal, JSON lines for a program, nothing when quiet."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import orjson

if TYPE_CHECKING:  # who draws no bar does not wait for what draws them
    from rich.console import Console
    from rich.progress import Progress

_LABEL = 22  # characters of a path or stage that are shown


class Listener(Protocol):
    """Who is told of progress."""

    def begin(self, label: str, total_bytes: int | None) -> None:
        """A stage or file begins; total_bytes is its size where that is known."""

    def advance(self, consumed: int, rows: int) -> None:
        """So many more bytes were consumed and rows stored."""

    def end(self) -> None:
        """The stage or file is done."""


class Silence:
    """Tells nobody."""

    def begin(self, label: str, total_bytes: int | None) -> None:
        """Nothing is shown."""

    def advance(self, consumed: int, rows: int) -> None:
        """Nothing is shown."""

    def end(self) -> None:
        """Nothing is shown."""


def _stderr() -> "Console":
    from rich.console import Console

    return Console(stderr=True)


@dataclass
class Bars:
    """A bar a file or stage on stderr, with bytes and rows a second; it fits a terminal of 80 columns."""

    console: "Console" = field(default_factory=_stderr)
    bar: "Progress | None" = None
    rows: int = 0
    consumed: int = 0
    began: float = 0.0

    def begin(self, label: str, total_bytes: int | None) -> None:
        """A new bar; it pulses if the size is not known."""
        from rich.progress import BarColumn, Progress, TextColumn

        self.rows, self.consumed, self.began = 0, 0, time.monotonic()
        # one a stage: started anew, a bar would draw all that came before it once more
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[read]:>18}"),
            TextColumn("{task.fields[told]:>28}"),
            console=self.console,
            expand=True,
        )
        shown = label if len(label) <= _LABEL else f"…{label[1 - _LABEL :]}"
        self.bar.add_task(f"{shown:<{_LABEL}}", total=total_bytes, told="", read="")
        self.bar.start()

    def advance(self, consumed: int, rows: int) -> None:
        """The bar grows."""
        from rich.filesize import decimal

        if self.bar is not None:
            self.rows += rows
            self.consumed += consumed
            took_s = max(time.monotonic() - self.began, 1e-3)
            read = (
                f"{decimal(self.consumed)}  {decimal(int(self.consumed / took_s))}/s" if self.consumed else ""
            )
            told = f"{self.rows:,} rows  {self.rows / took_s:,.0f} rows/s" if self.rows else ""
            self.bar.update(self.bar.task_ids[0], advance=consumed, told=told, read=read)

    def end(self) -> None:
        """The bar stays, full."""
        if self.bar is not None:
            done = max(self.bar.tasks[0].completed, 1)
            self.bar.update(self.bar.task_ids[0], total=done, completed=done)
            self.bar.stop()


@dataclass
class Lines:
    """One JSON object a line on stdout when a stage or file begins and ends."""

    label: str = ""
    consumed: int = 0
    rows: int = 0

    def begin(self, label: str, total_bytes: int | None) -> None:
        """A line says what begins."""
        self.label, self.consumed, self.rows = label, 0, 0
        self._say({"event": "begin", "label": label, "total_bytes": total_bytes})

    def advance(self, consumed: int, rows: int) -> None:
        """Counted; said at the end."""
        self.consumed += consumed
        self.rows += rows

    def end(self) -> None:
        """A line says what was done."""
        self._say({"event": "end", "label": self.label, "bytes": self.consumed, "rows": self.rows})

    def _say(self, what: dict[str, object]) -> None:
        sys.stdout.write(orjson.dumps(what).decode() + "\n")
        sys.stdout.flush()


# A context variable, as a step may only be handed paths, strings and numbers.
_listener: ContextVar[Listener] = ContextVar("listener", default=Silence())  # noqa: B039 (Silence holds no state)


@contextmanager
def told_to(listener: Listener) -> Iterator[None]:
    """Within this context progress is told to the listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def stage(label: str, total_bytes: int | None = None) -> Iterator[Listener]:
    """A stage or file of the work; call advance on what it gives."""
    listener = _listener.get()
    listener.begin(label, total_bytes)
    try:
        yield listener
    finally:
        listener.end()

"""What no reader takes and is known nevertheless, so that the user is told what it is: refused.yaml."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tracemortem import declared, folders

_BEGINNING = 65536  # characters in which a file says what it is: a first span may carry long texts


@dataclass(frozen=True)
class Refused:
    """One kind of file, as refused.yaml tells it.

    is_early    it looks like what readers take
    is_beside   lines of it may stand in an access log
    """

    name: str
    begins: re.Pattern[str]
    what: str
    fix: str
    samples: tuple[str, ...]
    is_early: bool
    is_beside: bool


def told(text: str, *, is_early: bool) -> Refused | None:
    """The first kind that a file with these first lines is of, among those asked early or the others."""
    asked = (kind for kind in kinds() if kind.is_early == is_early)
    return next((kind for kind in asked if kind.begins.search(text[:_BEGINNING])), None)


def is_beside(line: str) -> bool:
    """Whether a line is of what servers write among their requests."""
    return any(kind.is_beside and kind.begins.match(line) for kind in kinds())


@cache
def kinds() -> Sequence[Refused]:
    """All of them, in the order they are asked in."""
    table = declared.parsed(folders.definitions("sources", "refused.yaml"))
    return [
        Refused(
            name,
            re.compile(entry["begins"], re.MULTILINE),
            entry["what"],
            entry["fix"],
            tuple(entry["samples"]),
            entry.get("asked") == "early",
            entry.get("beside") == "requests",
        )
        for name, entry in table.items()
    ]

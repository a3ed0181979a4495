"""What no reader takes and is known nevertheless, so that the user is told what it is: refused.yaml."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tracemortem import declared, folders

_BEGINNING = 8192  # characters in which a file says what it is


@dataclass(frozen=True)
class Refused:
    """One kind of file, as refused.yaml tells it."""

    name: str
    begins: re.Pattern[str]
    what: str
    fix: str
    samples: tuple[str, ...]


def told(text: str) -> Refused | None:
    """The first kind that a file with these first lines is of."""
    return next((kind for kind in kinds() if kind.begins.search(text[:_BEGINNING])), None)


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
        )
        for name, entry in table.items()
    ]

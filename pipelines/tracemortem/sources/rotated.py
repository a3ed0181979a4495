"""Which files are parts of one that was rotated, and in which order they were written: by their names."""

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_PACKED = re.compile(r"(?:\.(?:gz|zst|zstd))+$")
# app-20260714.log, app.log-2026071405, app.log-20260714-1784005334, app-2026-07-14T05-02-14.173-size.json
# (timberjack), app.2026-07-14.1.log (the number counts on), access_log.1784005334 (rotatelogs)
_STAMP = re.compile(
    r"(?<!\d)(?:20\d\d-?[01]\d-?[0-3]\d(?:T(?=\d)|Z(?![A-Za-z])|[\d_:.,+-])*|1[4-9]\d{8}(?:\d{3})?(?!\d))"
    r"(?:-?(?:size|time|manual)(?![A-Za-z]))?"
)
_NUMBER = re.compile(r"\.(?P<number>\d{1,5})$")
_BETWEEN = re.compile(r"[-_.@]+")


class _Place(NamedTuple):
    """Where a file stands among its like: those with stamps first, by them; then the highest number first.

    number   0: the file that is still written to, which has neither
    """

    is_unstamped: bool
    stamp: tuple[int, ...]
    behind: int

    def is_followed_by(self, other: "_Place") -> bool:
        """Whether nothing can be missing between them, as far as names tell."""
        if self.is_unstamped:
            return other.behind == self.behind + 1
        return not other.is_unstamped or other.behind == 0


def neighbours(paths: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """Of each rotated set, each file and the one that was written right after it; both lie in one folder.

    How a file is packed does not count. Of two in one place (`app.log.1`, `app.log.1.gz`) the first is taken.
    """
    sets: dict[tuple[Path, str], dict[_Place, Path]] = {}
    for path in paths:
        name, place = _told(path.name)
        sets.setdefault((path.parent, name), {}).setdefault(place, path)
    for files in sets.values():
        for (before, path), (after, follower) in itertools.pairwise(sorted(files.items())):
            if before.is_followed_by(after):
                yield path, follower


def _told(name: str) -> tuple[str, _Place]:
    """What a file's name is without all that its rotation put there, and what that says."""
    bare = _PACKED.sub("", name)
    if stamp := _STAMP.search(bare):
        parts = bare[: stamp.start()], bare[stamp.end() :]
        place = _Place(False, tuple(int(digits) for digits in re.findall(r"\d+", stamp[0])), 0)
        return _joined(".".join(parts)), place
    if number := _NUMBER.search(bare):
        return _joined(bare[: number.start()]), _Place(True, (), -int(number["number"]))
    return _joined(bare), _Place(True, (), 0)


def _joined(name: str) -> str:
    return _BETWEEN.sub(".", name).strip(".")

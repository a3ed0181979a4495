"""Where the facts of a warehouse lie: beside its file, by table and day."""

from pathlib import Path

from tracemortem.errors import SettingError

_GLOB = frozenset("*?[]{}")


def lake(published: Path) -> Path:
    """The folder of the facts of a warehouse, whether there is one or not."""
    return published.with_name(f"{published.name}.lake").resolve()


def checked(published: Path) -> Path:
    """The same for a file that is to have facts beside it.

    raises   SettingError if the path has a letter that stands for others where files are sought
    """
    folder = lake(published)
    if _GLOB & set(str(folder)):
        raise SettingError(
            f"{published} cannot have facts beside it",
            where="--db",
            why=f"one of {' '.join(sorted(_GLOB))} in a path stands for other letters when files are sought",
            fix="name a file in another folder",
        )
    return folder

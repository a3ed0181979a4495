"""Where the data that travels with the code lies, installed or in a checkout. The only place that knows."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The folder `sql` or `reports`: inside the package when installed, else beside `pipelines/`.

    raises   FileNotFoundError if neither exists: the installation is broken
    """
    for candidate in (_PACKAGE / name, _PACKAGE.parent.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"the folder {name}/ did not travel with the installation at {_PACKAGE}")


def definitions(room: str, kind: str) -> Path:
    """A folder of definitions inside a room, such as `sources` / `formats`."""
    return _PACKAGE / room / kind

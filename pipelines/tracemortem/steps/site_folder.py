"""The folder of a site: what may be written there, and what of it may be removed."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson

from tracemortem.errors import SettingError
from tracemortem.report.put import put
from tracemortem.settings import Settings
from tracemortem.steps.place import make

PAGES = "incidents"  # the folder of the incidents' pages
_INDEX = "index.html"
_LIST = "site.json"  # names what the site wrote, so that nothing else is ever removed
_SCHEMA = "tracemortem.site/1"
_PAGE = re.compile(r"[a-z0-9-]+\.html")
_UNFINISHED = re.compile(r"\..+\.(\d+)\.tmp")


def taken(settings: Settings) -> Path:
    """The folder --out, made if need be.

    raises   SettingError if it is not given, cannot be written to, or holds what is no site of ours
    """
    if settings.out is None:
        raise SettingError(
            "no site without a folder", where="--out", why="it is missing", fix="add --out DIR"
        )
    out = Path(settings.out)
    make("--out", out)
    others = sorted(path.name for path in out.iterdir() if not _UNFINISHED.fullmatch(path.name))
    if others and _written(out) is None:
        raise SettingError(
            f"{out} holds something else",
            where="--out",
            why=f"it has {others[0]} in it, and no {_LIST} that says it is a site that this command wrote",
            fix="name a folder that is empty or not there yet, or one with such a site",
        )
    return out


def replaced(out: Path, first: bytes, names: Sequence[str], pages: Iterable[bytes]) -> Path:
    """Put the site into its folder; returns its first page.

    first    content of that page
    names    of each incident's page
    pages    their contents, taken one at a time: together they may be more than fits into memory
    raises   SettingError if it cannot be written

    The list of what was written comes first, so that a run that is killed leaves nothing that the next does
    not know; then the pages, then what links to them; what is linked to no more goes last.
    """
    try:
        before = _written(out) or set()
        (out / PAGES).mkdir(exist_ok=True)
        _clear_up_after_the_dead(out)
        put({_LIST: _listed({*before, *names})}, out)
        for name, content in zip(names, pages, strict=True):
            put({name: content}, out / PAGES)
        put({_INDEX: first}, out)
        for name in before - set(names):
            (out / PAGES / name).unlink(missing_ok=True)
        put({_LIST: _listed(names)}, out)
    except OSError as error:
        raise SettingError(
            "the site cannot be written",
            where=str(error.filename or out),
            why=error.strerror or str(error),
            fix="make room or give the right to write there, or name another --out",
        ) from error
    return out / _INDEX


def _written(out: Path) -> set[str] | None:
    """Names of the pages that the site in this folder wrote; None if there is no site."""
    try:
        told = orjson.loads((out / _LIST).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    if not isinstance(told, dict) or told.get("schema") != _SCHEMA or not isinstance(told.get("pages"), list):
        return None
    # it lies where anybody may change it, so a name that leads elsewhere is none of ours
    return {name for name in told["pages"] if isinstance(name, str) and _PAGE.fullmatch(name)}


def _listed(pages: Iterable[str]) -> bytes:
    return orjson.dumps({"schema": _SCHEMA, "pages": sorted(pages)}, option=orjson.OPT_INDENT_2)


def _clear_up_after_the_dead(out: Path) -> None:
    """Remove the unfinished files of runs that were killed; those of the living stay."""
    for folder in (out, out / PAGES):
        for path in folder.iterdir():
            of = _UNFINISHED.fullmatch(path.name)
            if of and (int(of[1]) == os.getpid() or not Path(f"/proc/{of[1]}").exists()):
                path.unlink(missing_ok=True)

"""Which files the INPUTs are, and which reader and format reads each."""

import glob
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tracemortem.errors import InputError
from tracemortem.sources.apache_format import apache_compiled, apache_directives
from tracemortem.sources.lines import TextFormat
from tracemortem.sources.log_format import compiled, directives
from tracemortem.sources.opened import HEAD, foreign, head
from tracemortem.sources.recognise import JSON_LINES, Recognised, behind_cut, recognise, which_format
from tracemortem.sources.rotated import neighbours

_WHOLE_CONFIGURATION = 16 << 20
_LONG_LINE = 4 << 20  # bytes looked at to tell JSON lines from documents without any line end


@dataclass(frozen=True)
class Found:
    """One file among the INPUTs.

    shown        its path relative to its INPUT; for a single file its name
    given        its INPUT
    kind         otlp, spans, metrics_text, access_log, events, log_format or skipped
    format       what reads it, such as otlp_json_lines, prometheus_text, nginx:llm, nginx_combined
    reason       why it was taken for that, a sentence
    fix          what would make it readable, where it is skipped
    text_format  the compiled format of an access log
    runner_up    the access-log format that came second, and how many of the first lines it reads
    """

    path: Path
    shown: str
    given: str
    kind: str
    format: str
    reason: str
    fix: str = ""
    text_format: TextFormat | None = None
    runner_up: str = ""


def survey(inputs: Sequence[str], formats: Sequence[TextFormat] = ()) -> list[Found]:
    """Every file of the INPUTs in order, and what it is; nothing is left out silently but hidden files.

    inputs   files, folders (read recursively) and globs
    formats  the user's own access-log formats, besides the log_format directives among the inputs and those
             that travel with the code
    raises   InputError where there is no such file, a file given by name is not readable telemetry, or an
             INPUT holds nothing known
    """
    found: list[Found] = []
    seen: set[Path] = set()
    for given in inputs:
        files = list(_files(given))
        if not files:
            raise _unusable(given, "is empty", "there is no file in it that is not hidden", "check the path")
        for path, shown in files:
            if (real := path.resolve()) not in seen:
                seen.add(real)
                found.append(_recognised(path, shown, given))
    if any(file.kind == "text" for file in found):
        from tracemortem.sources import declared_formats  # reading them costs 0.3 CPU s

        declared = [*formats, *declared_formats.formats()]
        known = list(dict.fromkeys([*_directives(found), *declared]))
        found = [_as_access_log(file, known) if file.kind == "text" else file for file in found]
    found = _in_sets(found)
    for given in dict.fromkeys(file.given for file in found):
        _check(given, [file for file in found if file.given == given])
    return found


def _files(given: str) -> Iterator[tuple[Path, str]]:
    """The files of one INPUT, sorted, with the path that they are shown by."""
    path = Path(given)
    if "://" in given:
        raise _unusable(
            given, "is a URL, and those are not read yet", "only local files are", "download it first"
        )
    if path.is_dir():
        yield from _walk(path, path)
    elif path.exists():
        yield path, path.name
    elif glob.has_magic(given):
        plain = list(itertools.takewhile(lambda part: not glob.has_magic(part), path.parts))
        root = Path(*plain)
        matches = sorted(root.glob(str(path.relative_to(root))))
        if not matches:
            raise _unusable(given, "matches no file", "no file or folder has such a name", "check it with ls")
        for match in matches:
            if not _is_hidden(match, root):
                yield from _walk(match, root) if match.is_dir() else [(match, _relative(match, root))]
    else:
        raise _unusable(given, "is not there", "there is no such file or folder", "check the path")


def _walk(folder: Path, root: Path) -> Iterator[tuple[Path, str]]:
    """Files under a folder by name, and folders that cannot be read; hidden ones are left out."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        yield folder, _relative(folder, root)
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and not entry.is_symlink():  # links to folders may lead in circles
            yield from _walk(entry, root)
        else:
            yield entry, _relative(entry, root)


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _is_hidden(path: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)


def _recognised(path: Path, shown: str, given: str) -> Found:
    skipped = Found(path, shown, given, "skipped", "unknown", "")
    if not path.is_file():
        is_link = path.is_symlink() and path.is_dir()
        why = "a link to a folder is not followed" if is_link else "it is no file that can be read"
        return replace(skipped, reason=why, fix="give it as an INPUT of its own")
    try:
        beginning = head(path)
        if len(beginning) >= HEAD and b"\n" not in beginning:
            beginning = head(path, _LONG_LINE)
    except OSError as error:
        return replace(skipped, reason=f"it cannot be opened: {error.strerror}", fix="check its permissions")
    except InputError as error:
        return replace(skipped, reason=f"{error.what}: {error.why}", fix=error.fix)
    return _found(skipped, recognise(beginning))


def _as_access_log(file: Found, candidates: Sequence[TextFormat]) -> Found:
    what = which_format(head(file.path), candidates)
    if what.kind == "skipped" and file.fix:  # it is known better why, such as for JSON
        return replace(file, kind="skipped")
    return _found(file, what)


def _in_sets(found: Sequence[Found]) -> list[Found]:
    """The same files; but one that begins with the rest of a record is as the file before it in its set."""
    files = {file.path: file for file in found}
    for before, after in neighbours(files):
        files[after] = _continued(files[before], files[after])
    return list(files.values())


def _continued(before: Found, after: Found) -> Found:
    if after.format == before.format or not (before.text_format or before.format in JSON_LINES):
        return after
    beginning = head(after.path) if after.path.is_file() else b""
    if (what := behind_cut(beginning)) and what.format == before.format:
        return _found(after, what)
    is_one_line = beginning and b"\n" not in beginning.rstrip(b"\n")
    if not is_one_line or after.format != "unknown" or foreign(beginning):
        return after
    why = f"it is taken for the rest of a line of {before.shown}"
    return replace(after, kind=before.kind, format=before.format, text_format=before.text_format, reason=why)


def _found(file: Found, what: Recognised) -> Found:
    """The file as what it was recognised for."""
    return Found(
        file.path,
        file.shown,
        file.given,
        what.kind,
        what.format,
        what.reason,
        what.fix,
        what.text_format,
        what.runner_up,
    )


def _directives(files: Iterable[Found]) -> Iterator[TextFormat]:
    for file in files:
        if file.kind == "log_format":
            text = head(file.path, _WHOLE_CONFIGURATION).decode("utf-8", "replace")
            read = [compiled(directive) for directive in directives(text)]
            read += [apache_compiled(directive) for directive in apache_directives(text)]
            yield from (form for form in read if isinstance(form, TextFormat))


def _check(given: str, files: Sequence[Found]) -> None:
    if any(file.kind != "skipped" for file in files):
        return
    if len(files) == 1 and files[0].path == Path(given):
        raise _unusable(given, "cannot be read", files[0].reason, files[0].fix)
    examples = "; ".join(f"{file.shown}: {file.reason}" for file in files[:3])
    raise _unusable(
        given,
        "holds nothing that is known here",
        f"{len(files)} files were looked at; {examples}",
        "see `tracemortem formats` for what is read",
    )


def _unusable(given: str, what: str, why: str, fix: str) -> InputError:
    return InputError(f"{given} {what}", where=given, why=why, fix=fix)

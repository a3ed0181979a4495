"""What people wrote in the report that stands in --out: kept, whatever a new run finds."""

from itertools import count
from pathlib import Path

from tracemortem.errors import SettingError
from tracemortem.report import yours
from tracemortem.settings import Settings


def written(settings: Settings) -> dict[yours.Place, str]:
    """The words in the places of report.md, to the byte; none without such a file.

    raises   InputError with the line where the marks of the places are damaged, SettingError if the file
             cannot be read
    """
    path = _path(settings)
    return yours.read(_text(path), str(path))


def check(settings: Settings) -> int:
    """How many places have words; raises as `written` does, and that before an hour of work, not after."""
    return sum(1 for words in written(settings).values() if words.strip())


def set_aside(settings: Settings) -> tuple[str, ...]:
    """Keep a copy of a report.md that was changed where people do not write; returns what to tell them.

    A copy never takes the place of another: report.md.bak, report.md.bak.2, and so on.
    """
    path = _path(settings)
    text = _text(path)
    if not text or not yours.is_changed(text):
        return ()
    content = text.encode("utf-8", "surrogateescape")
    for number in count(1):
        copy = path.with_name(f"{path.name}.bak{'' if number == 1 else f'.{number}'}")
        try:
            if copy.exists():
                if copy.read_bytes() == content:
                    break
                continue
            with copy.open("xb") as stream:
                stream.write(content)
            break
        except FileExistsError:
            continue
        except OSError as error:
            raise _unusable(copy, error, "make room or give the right to write there") from error
    kept = f"as it was, it is kept in {copy}"
    return (f"{path} was changed outside of the places for people, and is made anew; {kept}",)


def _path(settings: Settings) -> Path:
    return Path(settings.out or "") / "report.md"


def _text(path: Path) -> str:
    """The file as text from which its bytes can be made again; "" without one."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape") if path.is_file() else ""
    except OSError as error:
        raise _unusable(path, error, "give the right to read it, or move it elsewhere") from error


def _unusable(path: Path, error: OSError, fix: str) -> SettingError:
    return SettingError(
        "what people wrote in the last report cannot be kept",
        where=str(path),
        why=error.strerror or str(error),
        fix=fix,
    )

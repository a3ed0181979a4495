"""Files and INPUTs that are taken for telemetry and give no row: what is said of them."""

from collections.abc import Container, Mapping, Sequence

from tracemortem.errors import InputError
from tracemortem.sources.find import Found
from tracemortem.warehouse.store import Store

_SHOWN = 3
_FORMATS = "if it is of another format, see `tracemortem formats` for what is read"


def is_without_rows(file: Found, rows: int) -> bool:
    """Whether a file that is taken for telemetry gives none."""
    return rows == 0 and file.kind not in {"skipped", "log_format"}


def no_row(file: Found, why: str) -> InputError:
    """What is said of such a file. why: what happened to its records; "": there were none."""
    return InputError(
        f"{file.shown} gives no row",
        where=str(file.path),
        why=f"taken for {file.format}, since {file.reason}; {why or 'it holds no record'}",
        fix=f"leave it out; or, {_FORMATS}",
    )


def refuse_without_rows(store: Store, file: Found, file_id: int, rows: int) -> None:
    """Raise InputError for a file, loaded under this number, that gives no row and should."""
    if is_without_rows(file, rows):
        raise no_row(file, _why(store, file_id))


def refuse_empty(store: Store, loaded: Sequence[tuple[Found, int]], *, besides: Container[int]) -> None:
    """Refuse the first INPUT of whose files, taken for telemetry, not one gives a row; or all together.

    loaded   the files that are not skipped, each with the number under which its content is in meta.input
    besides  the numbers of files that need not give any
    raises   InputError that names the first of its files, and why each gives none
    """
    counts = store.run("select file_id, rows from meta.input where kind <> 'skipped'")
    rows = {int(str(file_id)): int(str(count)) for file_id, count in counts}
    by_input: dict[str, dict[int, Found]] = {}
    for file, file_id in loaded:
        if file.kind != "log_format":
            by_input.setdefault(file.given, {})[file_id] = file
    for given, files in by_input.items():
        if not any(rows[file_id] or file_id in besides for file_id in files):
            raise _no_row_at_all(given, files, {file_id: _why(store, file_id) for file_id in files})
    if not by_input:
        raise InputError(
            "the inputs hold no telemetry",
            where=", ".join(dict.fromkeys(file.given for file, _ in loaded)),
            why="they hold formats of access logs, and no log",
            fix="give the logs too",
        )


def _why(store: Store, file_id: int) -> str:
    """What happened to the records of a file that gave no row; "" if it holds none."""
    found = store.run(
        "select line, reason, count(*) over () from meta.reject where file_id = $1 "
        "order by line, reason limit 1",
        [file_id],
    )
    return "".join(
        f"all of its {count:,} records were rejected, the first (line {line}): {reason}"
        for line, reason, count in found
    )


def _no_row_at_all(given: str, files: Mapping[int, Found], why: Mapping[int, str]) -> InputError:
    shown = [
        f"{file.shown} ({file.format}): {why[file_id] or 'it holds no record'}"
        for file_id, file in list(files.items())[:_SHOWN]
    ]
    more = f"; and {len(files) - _SHOWN:,} more" if len(files) > _SHOWN else ""
    return InputError(
        f"{given} gives no row",
        where=given,
        why="; ".join(shown) + more,
        fix=f"check how these files were recorded; {_FORMATS}",
    )

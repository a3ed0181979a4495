"""What is known of the files that were read: by their content, wherever it lies and however it is packed."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tracemortem.warehouse.load import Load
from tracemortem.warehouse.store import Store

_STATE = """
    with longest as (select file_id, max(length) as length from raw.seen group by file_id)
    select
        seen.file_id, input.path, seen.location, input.format, seen.sha256, seen.length, seen.whole_length,
        seen.lines, seen.length = longest.length as is_latest
    from raw.seen
    inner join meta.input on seen.file_id = input.file_id
    inner join longest on seen.file_id = longest.file_id
    where {which}
    order by seen.seen_no
"""
_REPLACED = """
    with last as (
        select file_id, arg_max(location, seen_no) as location, max(seen_no) as seen_no
        from raw.seen
        group by file_id
    ),
    replaced as (
        select before.file_id, arg_min(after.file_id, after.seen_no) as by
        from last as before
        left join last as after on before.location = after.location and before.seen_no < after.seen_no
        group by before.file_id
    )
    update meta.input set replaced_by = replaced.by
    from replaced
    where input.file_id = replaced.file_id and input.kind != 'log_format'
"""
_NEXT_SERIES = "select coalesce(max(series_no) + 1, 0)::bigint from raw.series where file_id = $1"
_REJECT = "meta.reject"


@dataclass(frozen=True)
class State:
    """What was read of a file.

    path       where it lay last, as it is shown; location: in full, where this state was found
    sha256     of its decompressed content; length: bytes of that
    whole      bytes up to the end of the last line that has one; lines: line ends
    is_latest  the file was not read further since
    """

    file_id: int
    path: str
    location: str
    format: str
    sha256: str
    length: int
    whole: int
    lines: int
    is_latest: bool


def known(store: Store, file_sha256: str) -> Sequence[State]:
    """The states in which a file lay that has this digest, compressed or not."""
    return _states(store, "seen.file_sha256 = $1", file_sha256)


def akin(store: Store, beginning: str) -> Sequence[State]:
    """Every state that may be the same content as one that begins so, or a part of it, or hold it.

    beginning   in hex
    """
    return _states(store, "starts_with($1, seen.beginning) or starts_with(seen.beginning, $1)", beginning)


def latest(store: Store, file_id: int) -> State:
    """How far a file was read, where that content was found last."""
    return next(state for state in reversed(_states(store, "seen.file_id = $1", file_id)) if state.is_latest)


def note(
    store: Store, load: Load, *, location: str, content: tuple[str, int, int, int], beginning: str
) -> None:
    """Remember what was read of a file, as part of its transaction.

    content     sha256, length, whole, lines, as State has them
    beginning   in hex
    """
    number = store.next_number("raw.seen", "seen_no")
    store.run(
        "insert into raw.seen values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        [number, load.file_id, location, load.sha256, *content, beginning],
    )


def moved(store: Store, state: State, *, path: str, location: str, file_sha256: str, size: int) -> None:
    """Note that the content of a state lies elsewhere now, or is packed otherwise, and is shown there.

    Where that was known already, nothing is written.
    """
    here = "from raw.seen where file_id = $1 and location = $2 and file_sha256 = $3"
    if store.scalar(f"select count(*) {here}", [state.file_id, location, file_sha256]):
        return
    with store.transaction():
        store.run(
            "insert into raw.seen select $1, file_id, $2, $3, sha256, length, whole_length, lines, beginning "
            "from raw.seen where file_id = $4 and sha256 = $5 order by seen_no limit 1",
            [
                store.next_number("raw.seen", "seen_no"), location, file_sha256, state.file_id, state.sha256,
            ],
        )  # fmt: skip
        store.run(
            "update meta.input set path = $1, sha256 = $2, bytes = $3 where file_id = $4",
            [path, file_sha256, size, state.file_id],
        )


def mark_replaced(store: Store) -> None:
    """Note in meta.input of every file which one lies now where it lay last, if another does."""
    store.run(_REPLACED)


def rows_beyond(store: Store, state: State, line: int) -> int:
    """How many rows of the file come from later lines."""
    return sum(_beyond(store, table, state.file_id, line) for table in _by_line(store))


def gave(store: Store, file_id: int, *, line: int) -> bool:
    """Whether anything came of a line of a file, rows or a reject."""
    tables = (*_by_line(store), _REJECT)
    here = "where file_id = $1 and line = $2"
    return any(store.scalar(f"select count(*) from {table} {here}", [file_id, line]) for table in tables)


def drop(store: Store, file_id: int, *, line: int) -> None:
    """Take out the one record, a row or a reject, that came of a line; to be done within a transaction."""
    here = "where file_id = $1 and line = $2"
    rejects = len(store.run(f"delete from {_REJECT} {here} returning line", [file_id, line]))
    rows = sum(
        len(store.run(f"delete from {table} {here} returning line", [file_id, line]))
        for table in _by_line(store)
    )
    store.run(
        "update meta.input set rows = rows - $1, rejects = rejects - $2, records = records - $1 - $2 "
        "where file_id = $3",
        [rows, rejects, file_id],
    )


def rejected_share(store: Store, file_ids: Collection[int]) -> float:
    """The share of the records of these files that are rejects, 0 to 1; 0 where there are none."""
    share = store.scalar(
        "select coalesce(sum(rejects) / nullif(sum(records), 0), 0)::double from meta.input "
        "where list_contains(string_split($1, ',')::uinteger[], file_id)",
        [",".join(map(str, file_ids))],
    )
    return float(str(share))


@contextmanager
def growing(
    store: Store, state: State, *, kept: tuple[int, int], path: str, size: int, kind: str, format_name: str
) -> Iterator[Load]:
    """A file that was read before, on its way further in; what fails inside leaves it as it was.

    kept    lines, and the bytes up to there, that stay as they were read; what came of the lines after them
            is dropped first, and what is appended has the numbers that follow. (0, 0): it is read anew
    """
    file_id = state.file_id
    lines, length = kept
    with store.transaction():
        load = Load(store.con, store.tables, file_id, size=size)
        if lines:
            [(rows, rejects, load.first_at, load.last_at, load.clock)] = store.con.execute(
                "select rows, rejects, first_at, last_at, clock from meta.input where file_id = $1", [file_id]
            ).fetchall()
            load.stored = rows - rows_beyond(store, state, lines)
            load.rejected = rejects - _beyond(store, _REJECT, file_id, lines)
            load.records = load.stored + load.rejected
            load.bytes_read, load.after_line = length, lines
            load.after_series = int(str(store.scalar(_NEXT_SERIES, [file_id])))
        for table in (*_by_line(store), _REJECT):
            store.run(f"delete from {table} where file_id = $1 and line > $2", [file_id, lines])
        if not lines:
            store.run("delete from raw.series where file_id = $1", [file_id])
            store.run("delete from meta.name_used where file_id = $1", [file_id])
        store.run("delete from meta.input where file_id = $1", [file_id])
        yield load
        store.put_input(load, path=path, kind=kind, format_name=format_name)


def _beyond(store: Store, table: str, file_id: int, line: int) -> int:
    counted = f"select count(*) from {table} where file_id = $1 and line > $2"
    return int(str(store.scalar(counted, [file_id, line])))


def _by_line(store: Store) -> Sequence[str]:
    """The tables of rows that know the line they came from."""
    return [name for name, table in store.tables.items() if name.startswith("raw.") and "line" in table.types]


def _states(store: Store, which: str, parameter: str | int) -> Sequence[State]:
    rows = store.con.execute(_STATE.format(which=which), [parameter]).fetchall()
    return [State(*row) for row in rows]

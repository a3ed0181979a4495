"""An access log of JSON lines into the same typed rows.

python tests/bench/json_log.py METHOD FILE
"""

import sys
from collections.abc import Mapping
from itertools import count, islice
from pathlib import Path

import nginx_log
from inputs import json_log
from measure import Cost
from methods import Method, compared, module, rows, run

LINES = 1_000_000
BATCH = 100_000  # lines that a loop in Python gives to DuckDB at once
_COLUMNS = {
    "time_iso8601": "time",
    "remote_addr": "text",
    "http_x_forwarded_for": "text",
    "request_method": "text",
    "request_uri": "text",
    "status": "small",
    "body_bytes_sent": "large",
    "request_time": "real",
    "upstream_response_time": "text",
    "upstream_addr": "text",
    "http_user_agent": "text",
    "http_host": "text",
    "request_id": "text",
}
_DUCKDB = {
    "time": "timestamptz",
    "text": "varchar",
    "small": "usmallint",
    "large": "ubigint",
    "real": "double",
}
_CHDB = {"time": "DateTime('UTC')", "text": "String", "small": "UInt16", "large": "UInt64", "real": "Float64"}


def chdb(file: Path, scratch: Path) -> str:
    """chDB's JSONEachRow with the columns named, into MergeTree. What is malformed is dropped."""
    module("chdb")
    from chdb.session import Session

    types = ", ".join(f"{name} {_CHDB[kind]}" for name, kind in _COLUMNS.items())
    settings = (
        "input_format_allow_errors_ratio = 0.01, input_format_skip_unknown_fields = 1, "
        "date_time_input_format = 'best_effort'"
    )
    session = Session(str(scratch / "chdb"))
    session.query(f"create table default.access ({types}) engine MergeTree order by tuple()")
    quoted = types.replace("'", "''")
    source = f"file('{file}', JSONEachRow, '{quoted}')"
    session.query(f"insert into default.access select * from {source} settings {settings}")
    stored, total = str(session.query("select count(), sum(status) from default.access")).strip().split(",")
    session.close()
    return rows(stored, total)


def duckdb_json(file: Path, scratch: Path) -> str:
    """DuckDB's read_json with the columns named. What is malformed is dropped."""
    import duckdb

    columns = {name: _DUCKDB[kind] for name, kind in _COLUMNS.items()}
    with duckdb.connect(scratch / "x.duckdb") as con:
        con.execute("set preserve_insertion_order = false")
        con.execute(
            f"create table access as select * from read_json('{file}', columns = {columns}, "
            "format = 'newline_delimited', ignore_errors = true)"
        )
        return rows(
            *con.execute("select count(*), sum(status) from access where status is not null").fetchall()[0]
        )


def orjson_loop(file: Path, scratch: Path) -> str:
    """A loop with orjson on every line, the rows into DuckDB by way of Polars."""
    import duckdb
    import orjson
    import polars as pl

    types = ", ".join(f"{name} {_DUCKDB[kind]}" for name, kind in _COLUMNS.items())
    bad: list[int] = []
    numbers = count(1)
    with duckdb.connect(scratch / "x.duckdb") as con, file.open("rb") as lines:
        con.execute(f"create table access ({types})")
        while some := list(islice(lines, BATCH)):
            found = []
            for line, number in zip(some, numbers, strict=False):
                try:
                    row = orjson.loads(line)
                except orjson.JSONDecodeError:
                    bad.append(number)
                else:
                    found.append(tuple(row[name] for name in _COLUMNS))
            con.register("found", pl.DataFrame(found, schema=list(_COLUMNS), orient="row"))
            con.execute("insert into access select * from found")
        stored = con.execute("select count(*), sum(status) from access").fetchall()[0]
        return rows(*stored, " ".join(map(str, bad)))


METHODS: Mapping[str, Method] = {
    "tracemortem rows": nginx_log.load,
    "tracemortem ingest": nginx_log.ingest,
    "chDB JSONEachRow": chdb,
    "DuckDB read_json": duckdb_json,
    "Python orjson": orjson_loop,
}


def written(folder: Path, lines: int = LINES) -> tuple[Path, list[int]]:
    """The log, and which of its lines are malformed."""
    (folder / "json").mkdir()
    file = folder / "json" / "access.json"
    return file, json_log(file, lines)


def costs(file: Path, runs: int) -> list[Cost]:
    """A row a method."""
    return compared(__file__, METHODS, file, runs)


if __name__ == "__main__":
    run(METHODS, *sys.argv[1:])

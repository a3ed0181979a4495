"""An access log in a log_format of its own into typed rows: time, addresses, request, status, sizes, times.

python tests/bench/nginx_log.py METHOD FILE
"""

import re
import sys
from collections.abc import Mapping
from itertools import count, islice
from pathlib import Path

from inputs import LOG_FORMAT, nginx_log
from measure import Cost
from methods import Method, compared, module, program, rows, run

LINES = 1_000_000
BATCH = 100_000  # lines that a loop in Python gives to DuckDB at once
_PATTERN = re.compile(
    r'(\S+) - (\S+) \[([^\]]+)\] "(\S+) (\S+) [^"]*" (\d+) (\d+) "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)" '
    r'"((?:[^"\\]|\\.)*)" rt=([\d.]+) urt="([\d.]+|-)" uaddr="([^"]*)" rid=(\S+)\n?'
)
_TABLE = (
    "finished_at {time}, client {text}, method {text}, path {text}, status {small}, sent {large}, "
    "referer {text}, agent {text}, forwarded {text}, took_s {real}, upstream_s {real}, upstream {text}, "
    "request_id {text}"
)


def load(file: Path, scratch: Path) -> str:
    """The product, up to typed rows."""
    import ours

    return _ours(ours.load(file.parent, scratch / "x.duckdb"), "raw.access")


def ingest(file: Path, scratch: Path) -> str:
    """The product's whole command."""
    import ours

    return _ours(ours.ingest(file.parent, scratch / "x.duckdb"), "norm.request")


def _ours(database: Path, table: str) -> str:
    import ours

    stored = "select sum(rows) from meta.input"
    lines = "select string_agg(line::varchar, ' ' order by line) from meta.reject"
    total = f"select sum(status) from {table}"
    return rows(*ours.one(database, f"select ({stored}), ({total}), ({lines})"))


def goaccess(file: Path, scratch: Path) -> str:
    """GoAccess, which makes a report of its own and no rows."""
    import orjson

    report = scratch / "report.json"
    form = '%h - %e [%d:%t %^] "%r" %s %b "%R" "%u" "%^" rt=%T urt="%^" uaddr="%^" rid=%^'
    times = ["--date-format=%d/%b/%Y", "--time-format=%H:%M:%S", f"--log-format={form}"]
    program("goaccess", file, *times, "--no-global-config", "--no-progress", "-o", report)
    said = orjson.loads(report.read_bytes())["general"]
    return f"{said['valid_requests']} requests in a report, {said['failed_requests']} failed"


def chdb_split(file: Path, scratch: Path) -> str:
    """chDB, its quickest way: cut at quotes and blanks, into MergeTree. Other lines are dropped."""
    cut = "splitByChar('\"', line) as q, splitByChar(' ', q[1]) as a, splitByChar(' ', q[2]) as r"
    more = "splitByChar(' ', q[3]) as s, splitByChar(' ', q[9]) as t"
    time = (
        "parseDateTime(concat(substring(a[4], 2), ' ', substring(a[5], 1, 5)), '%d/%b/%Y:%H:%i:%s %z', 'UTC')"
    )
    fields = (
        f"{time}, a[1], r[1], r[2], toUInt16(s[2]), toUInt64(s[3]), q[4], q[6], q[8], "
        "toFloat64(substring(t[2], 4)), toFloat64OrNull(q[10]), q[12], substring(q[13], 6)"
    )
    source = f"(select {cut}, {more} from file('{file}', LineAsString) where length(q) = 13)"
    return _chdb(scratch, f"select {fields} from {source}")


def chdb_regexp(file: Path, scratch: Path) -> str:
    """chDB's format Regexp, into MergeTree. Lines that do not match are dropped."""
    names = ("client", "user", "time", "method", "path", "status", "sent", "referer", "agent", "forwarded")
    more = ("took", "upstream_took", "upstream", "request_id")
    types = ", ".join(f"{name} String" for name in (*names, *more))
    time = "parseDateTime(time, '%d/%b/%Y:%H:%i:%s %z', 'UTC')"
    fields = (
        f"{time}, client, method, path, toUInt16(status), toUInt64(sent), referer, agent, forwarded, "
        "toFloat64(took), toFloat64OrNull(upstream_took), upstream, request_id"
    )
    pattern = _PATTERN.pattern.removesuffix(r"\n?").replace("\\", "\\\\")
    settings = f"format_regexp = '{pattern}', format_regexp_skip_unmatched = 1"
    escaping = "format_regexp_escaping_rule = 'Raw'"
    return _chdb(
        scratch, f"select {fields} from file('{file}', Regexp, '{types}') settings {settings}, {escaping}"
    )


def _chdb(scratch: Path, select: str) -> str:
    module("chdb")
    from chdb.session import Session

    types = _TABLE.format(time="DateTime", text="String", small="UInt16", large="UInt64", real="Float64")
    types = types.replace("upstream_s Float64", "upstream_s Nullable(Float64)")
    session = Session(str(scratch / "chdb"))
    session.query(f"create table default.access ({types}) engine MergeTree order by tuple()")
    session.query(f"insert into default.access {select}")
    stored, total = str(session.query("select count(), sum(status) from default.access")).strip().split(",")
    session.close()
    return rows(stored, total)


def duckdb_split(file: Path, scratch: Path) -> str:
    """DuckDB, cut at quotes and blanks. Lines of another shape are dropped."""
    import duckdb

    types = _TABLE.format(
        time="timestamptz", text="varchar", small="usmallint", large="ubigint", real="double"
    )
    whole = "columns = {line: 'varchar'}, delim = '\\0', quote = '', escape = '', header = false"
    select = f"""
        with quoted as (select string_split(line, '"') as q from read_csv('{file}', {whole})),
        cut as (
            select q, string_split(q[1], ' ') as a, string_split(q[2], ' ') as r, string_split(q[3], ' ') as s
            from quoted
            where len(q) = 13
        )
        select
            strptime(a[4][2:] || ' ' || a[5][1:5], '%d/%b/%Y:%H:%M:%S %z'), a[1], r[1], r[2], s[2]::usmallint,
            s[3]::ubigint, q[4], q[6], q[8], string_split(q[9], ' ')[2][4:]::double,
            try_cast(q[10] as double), q[12], q[13][6:]
        from cut
    """
    with duckdb.connect(scratch / "x.duckdb") as con:
        con.execute("set preserve_insertion_order = false")
        con.execute(f"create table access ({types})")
        con.execute(f"insert into access {select}")
        return rows(*con.execute("select count(*), sum(status) from access").fetchall()[0])


def python_loop(file: Path, scratch: Path) -> str:
    """A loop with a regular expression on every line, the rows into DuckDB by way of Polars."""
    import duckdb
    import polars as pl

    types = _TABLE.format(
        time="timestamptz", text="varchar", small="usmallint", large="ubigint", real="double"
    )
    names = ["client", "user", "time", "method", "path", "status", "sent", "referer", "agent", "forwarded"]
    names += ["took", "upstream_took", "upstream", "request_id"]
    bad: list[int] = []
    numbers = count(1)
    with duckdb.connect(scratch / "x.duckdb") as con, file.open(encoding="utf-8") as lines:
        con.execute(f"create table access ({types})")
        while some := list(islice(lines, BATCH)):
            found = []
            for line, number in zip(some, numbers, strict=False):
                match = _PATTERN.fullmatch(line)
                if match is None:
                    bad.append(number)
                else:
                    found.append(match.groups())
            frame = pl.DataFrame(found, schema=names, orient="row")
            con.register("found", frame)
            con.execute(
                "insert into access select strptime(time, '%d/%b/%Y:%H:%M:%S %z'), client, method, path, "
                "status, sent, referer, agent, forwarded, took, try_cast(upstream_took as double), upstream, "
                "request_id from found"
            )
        stored = con.execute("select count(*), sum(status) from access").fetchall()[0]
        return rows(*stored, " ".join(map(str, bad)))


METHODS: Mapping[str, Method] = {
    "tracemortem rows": load,
    "tracemortem ingest": ingest,
    "GoAccess": goaccess,
    "chDB splitByChar": chdb_split,
    "chDB Regexp": chdb_regexp,
    "DuckDB string_split": duckdb_split,
    "Python re": python_loop,
}


def written(folder: Path, lines: int = LINES) -> tuple[Path, list[int]]:
    """The log, beside the configuration that says how it is written; and which lines are malformed."""
    (folder / "nginx").mkdir()
    (folder / "nginx" / "nginx.conf").write_text(f"log_format bench '{LOG_FORMAT}';\n", encoding="utf-8")
    file = folder / "nginx" / "access.log"
    return file, nginx_log(file, lines)


def costs(file: Path, runs: int) -> list[Cost]:
    """A row a method."""
    return compared(__file__, METHODS, file, runs)


if __name__ == "__main__":
    run(METHODS, *sys.argv[1:])

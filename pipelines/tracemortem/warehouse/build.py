"""Models into tables: each SELECT becomes its table, with its header as the comments."""

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import duckdb

from tracemortem.errors import DefinitionError
from tracemortem.warehouse import engine, header, macro, model
from tracemortem.warehouse.engine import Value
from tracemortem.warehouse.model import STAGES, Model
from tracemortem.warehouse.store import Store

# Quantiles hold all values of a query at once and never spill: ten of each request take 80 MB a million.
_REQUESTS_AT_ONCE = 2_000_000

_AMBIGUOUS = {
    "DECIMAL": "a quantile or a division of it would be rounded to its scale",
    "TIMESTAMP": "an instant without zone means another one to each reader",
    "INTERVAL": "durations are seconds",
}

_STARTS = """
    with counted as (
        select time_bucket(interval 1 minute, started_at) as minute, count(*) as requests
        from norm.request
        where started_at is not null
        group by minute
    ),

    summed as (
        select minute, sum(requests) over (order by minute) - 1 as up_to from counted
    )

    select min(minute) as start from summed group by up_to // $at_once order by start
"""


def build(
    store: Store,
    sql: Path,
    values: Mapping[str, Value],
    stages: Collection[str] = STAGES,
    only: Collection[str] | None = None,
) -> dict[str, int]:
    """Build the models of these stages, in order, each table replaced as a whole.

    values   parameter -> value, at least those that the models ask for
    stages   earlier ones must have been built before
    only     tables that are wanted, with those of the stages that they read; None: all
    returns  table -> rows, in the order built
    raises   DefinitionError if a model does not run, asks for what values lacks, or gives other columns than
             its header says; WarehouseError if memory or disk give out

    Macros that give values are installed first, those that give rows after the last stage.
    """
    macros = macro.read(sql)
    macro.install(store.con, (one for one in macros if not one.is_table))
    for stage in stages:
        store.run(f"create schema if not exists {stage}")
    models = [one for one in model.read(sql, store.tables) if one.stage in stages]
    if only is not None:
        wanted = set(only)
        for one in reversed(models):  # each stands after those it reads
            wanted |= one.reads if one.name in wanted else set()
        return {one.name: _build(store, one, values) for one in models if one.name in wanted}
    built = {one.name: _build(store, one, values) for one in models}
    _drop_what_no_model_makes(store, stages, built)
    if STAGES[-1] in stages:
        macro.install(store.con, (one for one in macros if one.is_table))
    return built


def columns(con: duckdb.DuckDBPyConnection, one: Model, values: Mapping[str, Value]) -> dict[str, str]:
    """The columns the model gives, name -> type, held to its header. Nothing is computed.

    raises   DefinitionError if DuckDB refuses the SELECT, names or order differ, or a type means different
             things to different readers
    """
    try:
        rows = con.execute(
            f"describe {one.header.body}", model.bound(one.header, one.parameters, values) or None
        ).fetchall()
    except duckdb.Error as error:
        raise _does_not_run(one, error) from error
    header.compare(one.header, [row[0] for row in rows])
    types: dict[str, str] = {row[0]: row[1] for row in rows}
    for name, kind in types.items():
        why = _AMBIGUOUS.get(kind.partition("(")[0])
        if why:
            raise DefinitionError(
                f"column {name!r} of {one.name} is a {kind}",
                where=str(one.header.path),
                why=why,
                fix="cast it: ::double, ::timestamptz, epoch(...)",
            )
    return types


def _drop_what_no_model_makes(store: Store, stages: Collection[str], built: Collection[str]) -> None:
    """A table whose model was deleted or renamed since would be published with old rows."""
    for schema, table in store.run("select schema_name, table_name from duckdb_tables() order by all"):
        if schema in stages and f"{schema}.{table}" not in built:
            store.run(f"drop table {engine.identifier(str(schema), str(table))}")


def _build(store: Store, one: Model, values: Mapping[str, Value]) -> int:
    types = columns(store.con, one, values)
    # DuckDB counts and sums integers in 128 bits, which few clients can read
    given = ", ".join(
        f"{engine.identifier(name)}::bigint as {engine.identifier(name)}"
        if kind == "HUGEINT"
        else engine.identifier(name)
        for name, kind in types.items()
    )
    select = f"select {given} from ({one.header.body}\n)"
    values = model.bound(one.header, one.parameters, values)
    made = 0
    with store.transaction():
        try:
            for part, bounds in _parts(store, one, next(iter(types))):
                into = f"insert into {one.name}" if made else f"create or replace table {one.name} as"
                [(rows,)] = store.run(f"{into} {select} {part}", {**values, **bounds})
                made += int(str(rows))
        except duckdb.Error as error:
            raise _does_not_run(one, error) from error
        store.run(header.comments(one.header))
    return made


def _parts(store: Store, one: Model, first_column: str) -> Iterator[tuple[str, Mapping[str, Value]]]:
    """WHERE and its values, for each part of a table that is built one after the other.

    Any condition on what a SELECT gives parts its rows rightly. One on the minute is what DuckDB carries to
    the requests before they are grouped, so that each part groups its own alone.
    """
    starts: list[Value] = []
    if first_column == "minute" and "norm.request" in one.reads:
        starts = store.frame(_STARTS, {"at_once": _REQUESTS_AT_ONCE})["start"].to_list()
    if len(starts) < 2:
        yield "", {}
        return
    yield "where coalesce(minute < $minute_to, true)", {"minute_to": starts[1]}
    for start, end in pairwise(starts[1:]):
        yield "where minute >= $minute_from and minute < $minute_to", {"minute_from": start, "minute_to": end}
    yield "where minute >= $minute_from", {"minute_from": starts[-1]}


def _does_not_run(one: Model, error: duckdb.Error) -> DefinitionError:
    return DefinitionError(
        f"{one.name} does not run",
        where=str(one.header.path),
        why=engine.first_line(error),
        fix="mend its SQL; it must run in DuckDB's shell with its $names filled in",
    )

"""The models: what each sql/<stage>/<table>.sql reads and asks for, and in which order they are built."""

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import duckdb

from tracemortem.errors import DefinitionError
from tracemortem.warehouse import engine, header, statement
from tracemortem.warehouse.engine import Value

STAGES = ("norm", "mart", "evidence", "report")
_ORDER = {name: number for number, name in enumerate(("meta", "raw", *STAGES))}
_FOLDERS = frozenset((*_ORDER, "check", "macro"))

_ROWS_OF_NOTHING = frozenset({"range", "generate_series", "unnest"})
_CLOCK_OR_DICE = frozenset(
    {
        "now", "today", "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp",
        "get_current_time", "get_current_timestamp", "transaction_timestamp",
        "random", "setseed", "uuid", "uuidv4", "uuidv7", "gen_random_uuid",
        # these depend on the number of threads; quantile_cont is exact and quicker
        "approx_quantile", "reservoir_quantile",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Model:
    """One SELECT that becomes the table `schema.stem` of its path.

    reads       the tables it reads, as `schema.table`
    parameters  the $names it asks for
    """

    header: header.Header
    reads: frozenset[str]
    parameters: frozenset[str]

    @property
    def name(self) -> str:
        """`schema.table`."""
        return self.header.name

    @property
    def stage(self) -> str:
        """The schema."""
        return self.header.path.parent.name


def read(sql: Path, declared: Iterable[str]) -> tuple[Model, ...]:
    """Every model under sql/, each after those it reads.

    declared  the raw and meta tables there are
    raises    DefinitionError for a file nobody would build, a table nobody makes or a later stage makes,
              a cycle, or a call whose answer differs from run to run
    """
    for path in sorted(sql.rglob("*.sql")):
        if path.parent.parent != sql or path.parent.name not in _FOLDERS:
            raise DefinitionError(
                f"{path.name} would never be built",
                where=str(path),
                why=f"models lie in {', '.join(STAGES)}, one level deep",
                fix="move it there or delete it",
            )
    with engine.connect(None) as con:
        paths = [path for stage in STAGES for path in sorted((sql / stage).glob("*.sql"))]
        models = {model.name: model for model in (_read(con, path) for path in paths)}
    known = {*declared, *models}
    for model in models.values():
        _hold_to_the_stages(model, known)
    return tuple(models[name] for stage in STAGES for name in _in_order(stage, models.values()))


def select(con: duckdb.DuckDBPyConnection, about: header.Header) -> statement.Statement:
    """Parse a file's SELECT and refuse what no model or check may do.

    raises   DefinitionError
    """
    found = statement.parse(con, about.body, about.path)
    for function in sorted(found.functions & _CLOCK_OR_DICE):
        raise DefinitionError(
            f"{about.name} calls {function}()",
            where=str(about.path),
            why="the same input must give the same bytes",
            fix="take a parameter or an exact function in its place",
        )
    for function in sorted(found.table_functions - _ROWS_OF_NOTHING):
        raise DefinitionError(
            f"{about.name} reads {function}()",
            where=str(about.path),
            why="it would hide a file or table from the order of building",
            fix="read the table itself",
        )
    for table in sorted(found.tables):
        if "." not in table:
            raise DefinitionError(
                f"{about.name} reads {table!r}",
                where=str(about.path),
                why="it is no CTE of this file, and a table is named with its schema",
                fix=f"write schema.{table}",
            )
    return found


def bound(about: header.Header, asked: Collection[str], values: Mapping[str, Value]) -> dict[str, Value]:
    """The parameters that are asked for, and no more: DuckDB refuses a surplus one.

    raises   DefinitionError if one has no value
    """
    for name in sorted(set(asked) - set(values)):
        raise DefinitionError(
            f"{about.name} asks for ${name}, which has no value",
            where=str(about.path),
            why=f"known are {', '.join(sorted(values)) or 'none'}",
            fix="correct the name, or add it to thresholds.yaml",
        )
    return {name: values[name] for name in sorted(asked)}


def both_ways(
    sql: Path, declared: Iterable[str], thresholds: Collection[str], elsewhere: Collection[str]
) -> None:
    """Every $name in SQL is a threshold, and every threshold is used.

    elsewhere  names that Python or YAML definitions use
    raises     DefinitionError naming the parameter and its file, or the threshold
    """
    used = set(elsewhere)
    models = [(model.header.path, model.parameters) for model in read(sql, declared)]
    with engine.connect(None) as con:
        checks = [
            (path, select(con, header.read(path)).parameters)
            for path in sorted((sql / "check").glob("*.sql"))
        ]
    for path, parameters in (*models, *checks):
        used |= parameters
        for name in sorted(parameters - set(thresholds)):
            close = difflib.get_close_matches(name, thresholds, n=1)
            raise DefinitionError(
                f"${name} is no threshold",
                where=str(path),
                why="a number the analysis turns on stands in thresholds.yaml with its reason and source",
                fix=f"did you mean ${close[0]}?" if close else f"add {name} there",
            )
    for name in sorted(set(thresholds) - used):
        raise DefinitionError(
            f"threshold {name!r} is used nowhere",
            where="thresholds.yaml",
            why="no model, check or definition asks for it",
            fix="delete it",
        )


def _read(con: duckdb.DuckDBPyConnection, path: Path) -> Model:
    about = header.read_table(path)
    found = select(con, about)
    return Model(about, found.tables, found.parameters)


def _hold_to_the_stages(model: Model, known: Collection[str]) -> None:
    for table in sorted(model.reads):
        where = str(model.header.path)
        if table not in known:
            close = difflib.get_close_matches(table, known, n=1)
            raise DefinitionError(
                f"{model.name} reads {table}, which nobody makes",
                where=where,
                why="there is neither a model nor a raw or meta table of that name",
                fix=f"did you mean {close[0]}?" if close else f"write sql/{table.replace('.', '/')}.sql",
            )
        if _ORDER[table.partition(".")[0]] > _ORDER[model.stage]:
            raise DefinitionError(
                f"{model.name} reads {table} of a later stage",
                where=where,
                why=f"data flows one way: {' -> '.join(('raw', *STAGES))}",
                fix="move one of the two, or what both need into an earlier stage",
            )


def _in_order(stage: str, models: Collection[Model]) -> tuple[str, ...]:
    own = {model.name: model.reads for model in models if model.stage == stage}
    graph = {name: sorted(reads & set(own)) for name, reads in sorted(own.items())}
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        ring = error.args[1]
        raise DefinitionError(
            f"{ring[0]} reads itself",
            where=" -> ".join(reversed(ring)),
            why="none of these tables can be built first",
            fix="move what they share into a table of its own",
        ) from error

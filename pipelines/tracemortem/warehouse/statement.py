"""What a SELECT reads, calls and asks for, by DuckDB's own parser."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from tracemortem.errors import DefinitionError

_BARE_CALLS = frozenset({"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"})


@dataclass(frozen=True)
class Statement:
    """One parsed SELECT.

    tables           what it reads, as `schema.table`; a name without a schema is neither table nor CTE
    functions        what it calls, macros and operators included
    table_functions  what it calls in FROM
    parameters       its $names
    """

    tables: frozenset[str]
    functions: frozenset[str]
    table_functions: frozenset[str]
    parameters: frozenset[str]


def parse(con: duckdb.DuckDBPyConnection, sql: str, path: Path) -> Statement:
    """Parse without binding: no table need exist, no parameter be given.

    path     the file it stands in, for the error
    raises   DefinitionError unless sql is exactly one SELECT (PIVOT and SHOW are none to the serialiser)
    """
    # fetchall: after fetchone DuckDB 2 holds the connection busy until the result is read to its end
    found = json.loads(con.execute("select json_serialize_sql($sql)", {"sql": sql}).fetchall()[0][0])
    if found.get("error", True):
        raise DefinitionError(
            f"{path.name} cannot be parsed",
            where=str(path),
            why=_why(found, sql),
            fix="write one SELECT that DuckDB's shell accepts",
        )
    if len(found["statements"]) != 1:
        raise DefinitionError(
            f"{path.name} holds {len(found['statements'])} statements",
            where=str(path),
            why="one file is one SELECT is one table",
            fix="split it into files",
        )
    nodes = list(_nodes(found["statements"]))
    common = {entry["key"] for node in nodes if "cte_map" in node for entry in node["cte_map"]["map"]}
    read = {
        f"{node['schema_name']}.{node['table_name']}" if node["schema_name"] else node["table_name"]
        for node in nodes
        if node.get("type") == "BASE_TABLE"
    }
    return Statement(
        tables=frozenset(read - common),
        functions=frozenset(node["function_name"] for node in nodes if "function_name" in node)
        | {name for node in nodes if node.get("class") == "COLUMN_REF" for name in node["column_names"][:1]}
        & _BARE_CALLS,
        table_functions=frozenset(
            node["function"]["function_name"] for node in nodes if node.get("type") == "TABLE_FUNCTION"
        ),
        parameters=frozenset(node["identifier"] for node in nodes if node.get("type") == "VALUE_PARAMETER"),
    )


def _why(found: dict[str, Any], sql: str) -> str:
    said = str(found.get("error_message", "")).strip().split("\n", maxsplit=1)[0]
    position = found.get("position")
    if position is None:
        return said
    line = sql.splitlines()[sql.count("\n", 0, int(position))]
    return f"{said}: {line.strip()}"


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for branch in tree.values():
            yield from _nodes(branch)
    elif isinstance(tree, list):
        for branch in tree:
            yield from _nodes(branch)

"""Under which heading does the report show the SQL of a piece of evidence?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from tracemortem.incident import Diagnosis, Evidence


@dataclass(frozen=True)
class Query:
    """One query as the method section shows it. heading: unique, and what links lead to."""

    heading: str
    text: str


def queries(diagnosis: Diagnosis, methods: pl.DataFrame) -> tuple[tuple[Query, ...], Mapping[str, str]]:
    """Every query behind the report, each once, and the heading under which a name or a text of SQL is shown.

    methods  columns name, sql: the queries that are files

    Evidence names its query, or carries its text; a text that is not among the methods gets its own heading.
    """
    shown = [Query(f"Query {name}", text) for name, text in methods.select("name", "sql").iter_rows()]
    headings = {query.text: query.heading for query in reversed(shown)}
    headings |= {query.heading.removeprefix("Query "): query.heading for query in shown}
    for evidence in _evidence(diagnosis):
        if evidence.sql and evidence.sql not in headings:
            taken = {query.heading for query in shown}
            names = (
                f"Query {evidence.id}{f' ({place})' if place else ''}" for place in range(len(taken) + 1)
            )
            heading = next(name for name in names if name not in taken)
            shown.append(Query(heading, evidence.sql))
            headings[evidence.sql] = heading
    return tuple(shown), headings


def _evidence(diagnosis: Diagnosis) -> Iterator[Evidence]:
    for incident in diagnosis.incidents:
        for cause in incident.causes:
            yield from cause.evidence
        for not_cause in incident.not_causes:
            yield from not_cause.evidence
        for action in incident.mitigation:
            yield from action.evidence

"""What models may read, and in which order they are built."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tracemortem.errors import DefinitionError
from tracemortem.warehouse import model

Sql = Callable[..., Path]
DECLARED = ("raw.event", "meta.input")


def reading(*tables: str) -> str:
    joined = " cross join ".join(tables)
    return f"-- One row per row.\n--\n-- n  count  rows\n\nselect count(*) as n from {joined}\n"


def names(folder: Path, declared: Iterable[str] = DECLARED) -> list[str]:
    return [one.name for one in model.read(folder, declared)]


def why(folder: Path) -> str:
    with pytest.raises(DefinitionError) as raised:
        model.read(folder, DECLARED)
    return raised.value.why


def test_a_model_is_built_after_those_it_reads(sql: Sql):
    folder = sql(
        report__a=reading("evidence.a", "report.z"),
        report__z=reading("mart.a"),
        evidence__a=reading("mart.a", "raw.event"),
        mart__a=reading("mart.b", "norm.c"),
        mart__b=reading("norm.c", "meta.input"),
        norm__c=reading("raw.event"),
    )
    assert names(folder) == ["norm.c", "mart.b", "mart.a", "evidence.a", "report.z", "report.a"]


def test_ctes_subqueries_and_joins_are_seen_and_a_cte_is_no_table(sql: Sql):
    text = """\
-- One row per row.
--
-- n  count  rows

with input as (select kind, (select max(rows) from meta.input) as rows from raw.event),
named as (select * from input where rows > $least)

select count(*) as n from named asof join norm.a on named.rows >= a.n where exists (from norm.b)
"""
    folder = sql(norm__a=reading("raw.event"), norm__b=reading("raw.event"), mart__t=text)
    found = {one.name: one for one in model.read(folder, DECLARED)}["mart.t"]
    assert found.reads == {"meta.input", "raw.event", "norm.a", "norm.b"}
    assert found.parameters == {"least"}


def test_a_name_in_a_comment_is_no_parameter(sql: Sql):
    folder = sql(mart__t=reading("raw.event") + "-- $least of them\n")
    assert model.read(folder, DECLARED)[0].parameters == frozenset()


def test_a_model_may_not_read_a_later_stage(sql: Sql):
    folder = sql(norm__a=reading("mart.b"), mart__b=reading("raw.event"))
    assert why(folder) == "data flows one way: raw -> norm -> mart -> evidence -> report"


def test_a_table_nobody_makes_is_named_with_the_likely_one(sql: Sql):
    with pytest.raises(DefinitionError) as raised:
        model.read(sql(mart__a=reading("raw.events")), DECLARED)
    assert (raised.value.what, raised.value.fix) == (
        "mart.a reads raw.events, which nobody makes",
        "did you mean raw.event?",
    )


def test_a_ring_of_models_is_drawn(sql: Sql):
    with pytest.raises(DefinitionError) as raised:
        model.read(sql(mart__a=reading("mart.b"), mart__b=reading("mart.a")), DECLARED)
    assert raised.value.where == "mart.a -> mart.b -> mart.a"


def test_a_table_without_its_schema_is_refused(sql: Sql):
    assert (
        why(sql(mart__a=reading("event")))
        == "it is no CTE of this file, and a table is named with its schema"
    )


@pytest.mark.parametrize("call", ["now()", "current_date", "random()", "approx_quantile(n, 0.5)"])
def test_what_differs_from_run_to_run_is_refused(sql: Sql, call: str):
    text = f"-- One row per row.\n--\n-- n  -  a\n\nselect {call} as n from raw.event\n"
    assert why(sql(mart__a=text)) == "the same input must give the same bytes"


def test_a_file_cannot_be_read_past_the_order_of_building(sql: Sql):
    assert (
        why(sql(mart__a=reading("read_csv('x.csv')")))
        == "it would hide a file or table from the order of building"
    )


def test_a_syntax_error_is_shown_with_its_line(sql: Sql):
    text = "-- One row per row.\n--\n-- at  UTC  when\n\nselect\n    at,\nfrom raw.event\n"
    assert why(sql(mart__a=text)) == 'syntax error at or near ",": at,'


def test_two_statements_in_a_file_are_refused(sql: Sql):
    assert why(sql(mart__a=reading("raw.event") + ";\nselect 1")) == "one file is one SELECT is one table"


@pytest.mark.parametrize("place", ["marts__a", "mart__sub__a"])
def test_a_file_nobody_would_build_is_refused(sql: Sql, place: str):
    with pytest.raises(DefinitionError, match=r"a\.sql would never be built"):
        model.read(sql(**{place: reading("raw.event")}), DECLARED)


ASKING = (
    "-- One row per row.\n--\n-- n  count  rows\n\nselect count(*) as n from raw.event where line > $least\n"
)
CHECKING = "-- Events without a text.\n\nselect * from raw.event where text is null and line > $from_line\n"


def test_thresholds_and_parameters_agree_both_ways(sql: Sql):
    folder = sql(mart__a=ASKING, check__warn_text=CHECKING)
    model.both_ways(folder, DECLARED, {"least", "from_line", "in_python"}, {"in_python"})


@pytest.mark.parametrize(
    ("thresholds", "what"),
    [
        ({"leest", "from_line"}, "$least is no threshold"),
        ({"least"}, "$from_line is no threshold"),
        ({"least", "from_line", "spare"}, "threshold 'spare' is used nowhere"),
    ],
)
def test_a_parameter_or_threshold_without_the_other_is_named(sql: Sql, thresholds: set[str], what: str):
    with pytest.raises(DefinitionError) as raised:
        model.both_ways(sql(mart__a=ASKING, check__warn_text=CHECKING), DECLARED, thresholds, set())
    assert raised.value.what == what

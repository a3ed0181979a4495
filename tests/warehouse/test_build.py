"""Models into tables, and macros beside them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracemortem.errors import DefinitionError, WarehouseError
from tracemortem.warehouse.build import build
from tracemortem.warehouse.store import Store

Sql = Callable[..., Path]


def a_model(select: str, *columns: str, about: str = "One row per number.") -> str:
    documented = "\n".join(f"-- {column}  count  what {column} is" for column in columns)
    return f"-- {about}\n--\n{documented}\n\n{select}\n"


NUMBERS = a_model("select range as n from range($count)", "n")


def test_a_model_becomes_the_table_its_path_names(store: Store, sql: Sql):
    folder = sql(norm__numbers=NUMBERS, mart__total=a_model("select sum(n) as n from norm.numbers", "n"))
    assert build(store, folder, {"count": 4, "not_asked_for": 1}) == {"norm.numbers": 4, "mart.total": 1}
    assert store.frame("from mart.total").rows() == [(6,)]


def test_its_header_is_stored_as_comments(store: Store, sql: Sql):
    build(store, sql(norm__numbers=NUMBERS), {"count": 1})
    assert (
        store.scalar("select comment from duckdb_tables() where schema_name = 'norm'")
        == "One row per number."
    )
    assert (
        store.scalar("select comment from duckdb_columns() where schema_name = 'norm'") == "what n is [count]"
    )


def test_building_again_replaces_the_rows(store: Store, sql: Sql):
    folder = sql(norm__numbers=NUMBERS)
    for count in (5, 2):
        build(store, folder, {"count": count})
    assert store.scalar("select count(*) from norm.numbers") == 2


def test_only_the_stages_asked_for_are_built(store: Store, sql: Sql):
    folder = sql(norm__numbers=NUMBERS, mart__total=a_model("select sum(n) as n from norm.numbers", "n"))
    build(store, folder, {"count": 4})
    assert build(store, folder, {"count": 9}, ("mart",)) == {"mart.total": 1}
    assert store.scalar("select n from mart.total") == 6


def test_only_the_tables_asked_for_are_built_with_those_they_read(store: Store, sql: Sql):
    total = a_model("select sum(n) as n from mart.numbers", "n")
    folder = sql(norm__other=NUMBERS, mart__numbers=NUMBERS, mart__total=total, mart__other=NUMBERS)
    build(store, folder, {"count": 4})
    assert build(store, folder, {"count": 9}, ("mart",), {"mart.total"}) == {
        "mart.numbers": 9,
        "mart.total": 1,
    }
    assert store.frame("select count(*) from mart.other").item() == 4


def test_a_table_whose_model_is_gone_goes_with_it(store: Store, sql: Sql):
    folder = sql(norm__numbers=NUMBERS, norm__old=NUMBERS, mart__kept=NUMBERS)
    build(store, folder, {"count": 1})
    (folder / "norm" / "old.sql").unlink()
    build(store, folder, {"count": 1}, ("norm",))
    tables = store.frame("select table_name from duckdb_tables() where schema_name in ('norm', 'mart')")
    assert sorted(tables["table_name"]) == ["kept", "numbers"]


def test_counts_and_sums_of_integers_are_stored_in_64_bits(store: Store, sql: Sql):
    select = (
        "select sum(range) as total, count_if(range > 1) as some, (1::uhugeint << 100) as ip from range(4)"
    )
    build(store, sql(mart__a=a_model(select, "total", "some", "ip")), {})
    types = store.frame(
        "select data_type from duckdb_columns() where schema_name = 'mart' order by column_index"
    )
    assert list(types["data_type"]) == ["BIGINT", "BIGINT", "UHUGEINT"]


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("1.5", "DECIMAL(2,1)"),
        ("timestamp '2026-02-03 11:00:00'", "TIMESTAMP"),
        ("interval 1 minute", "INTERVAL"),
    ],
)
def test_a_type_that_readers_would_take_differently_is_refused(
    store: Store, sql: Sql, expression: str, kind: str
):
    with pytest.raises(DefinitionError) as raised:
        build(store, sql(mart__a=a_model(f"select {expression} as n", "n")), {})
    assert raised.value.what == f"column 'n' of mart.a is a {kind}"


def test_a_column_the_header_does_not_name_is_refused_and_the_old_table_kept(store: Store, sql: Sql):
    build(store, sql(norm__numbers=NUMBERS), {"count": 3})
    folder = sql(norm__numbers=a_model("select range as n, 1 as more from range($count)", "n"))
    with pytest.raises(DefinitionError) as raised:
        build(store, folder, {"count": 1})
    assert (raised.value.where, raised.value.why) == (
        str(folder / "norm" / "numbers.sql"),
        "column 'more' is not in the header",
    )
    assert store.scalar("select count(*) from norm.numbers") == 3


def test_a_parameter_without_a_value_is_named(store: Store, sql: Sql):
    with pytest.raises(DefinitionError) as raised:
        build(store, sql(norm__numbers=NUMBERS), {"counts": 3})
    assert (raised.value.what, raised.value.why) == (
        "norm.numbers asks for $count, which has no value",
        "known are counts",
    )


def test_sql_that_does_not_run_is_shown_with_its_file(store: Store, sql: Sql):
    folder = sql(mart__a=a_model("select missing as n from raw.event", "n"))
    with pytest.raises(DefinitionError) as raised:
        build(store, folder, {})
    assert (raised.value.what, raised.value.where) == ("mart.a does not run", str(folder / "mart" / "a.sql"))
    assert raised.value.why.startswith('Binder Error: Referenced column "missing" not found')


def test_a_fault_in_the_data_is_shown_with_the_model_and_leaves_the_old_table(store: Store, sql: Sql):
    build(store, sql(norm__numbers=NUMBERS), {"count": 2})
    folder = sql(norm__numbers=a_model("select n::integer as n from (values ('1'), ('x')) as t (n)", "n"))
    with pytest.raises(DefinitionError, match="Could not convert string 'x' to INT32"):
        build(store, folder, {})
    assert store.scalar("select count(*) from norm.numbers") == 2


def test_a_model_that_takes_too_much_memory_is_not_said_to_be_wrong(tmp_path: Path, sql: Sql):
    folder = sql(mart__a=a_model("select list(hash(range)) as n from range(20000000)", "n"))
    with Store(tmp_path / "x.duckdb", sql=folder, memory_limit="20MB", threads=1) as store:
        store.run("set max_temp_directory_size = '0MB'")
        with pytest.raises(WarehouseError) as raised:
            build(store, folder, {})
    assert raised.value.what == "the work takes more memory than it may use"


def test_an_order_in_the_model_is_the_order_on_disk(tmp_path: Path, sql: Sql):
    select = "select range as n from range(500000) order by hash(range)"
    folder = sql(mart__a=a_model(select, "n"))
    with Store(tmp_path / "x.duckdb", sql=folder) as store:
        build(store, folder, {})
        falls = store.frame("select n from mart.a qualify hash(n) < lag(hash(n)) over (order by rowid)")
        assert falls.height == 0


RATIO = "-- a over b; null where b is 0.\ncreate or replace macro ratio(a, b) as a / nullif(b, 0)\n"
ABOVE = """\
-- The numbers above a limit.
create or replace macro above(least) as table
select n from norm.numbers where n > least
"""


def test_models_use_the_macros_that_give_values(store: Store, sql: Sql):
    build(store, sql(macro__ratio=RATIO, mart__a=a_model("select ratio(1, 4) as n", "n")), {})
    assert store.frame("from mart.a").rows() == [(0.25,)]


def test_macros_that_give_rows_come_after_the_last_stage(store: Store, sql: Sql):
    folder = sql(macro__above=ABOVE, norm__numbers=NUMBERS)
    build(store, folder, {"count": 4}, ("norm",))
    assert store.scalar("select count(*) from duckdb_functions() where function_name = 'above'") == 0
    build(store, folder, {"count": 4}, ("mart", "evidence", "report"))
    assert store.frame("from above(1) order by n").rows() == [(2,), (3,)]


def test_macros_carry_their_header_as_a_comment(store: Store, sql: Sql):
    build(store, sql(macro__ratio=RATIO, macro__above=ABOVE, norm__numbers=NUMBERS), {"count": 1})
    found = store.frame(
        "select function_name, comment from duckdb_functions() where not internal order by all"
    )
    assert found.rows() == [
        ("above", "The numbers above a limit."),
        ("ratio", "a over b; null where b is 0."),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(
            "-- Half.\ncreate or replace macro m(a) as ratio(a, 2)",
            "it calls the macro ratio",
            id="calls another",
        ),
        pytest.param(
            "-- More.\ncreate or replace macro m(a) as a + $more", "it asks for $more", id="parameter"
        ),
        pytest.param(
            "-- Events.\ncreate or replace macro m(a) as (select count(*) from raw.event where line > a)",
            "it gives a value, yet reads raw.event",
            id="hidden table",
        ),
        pytest.param(
            "-- Other.\ncreate or replace macro other(a) as a",
            "it begins 'create or replace macro other(a) as a'",
            id="name",
        ),
    ],
)
def test_a_macro_that_does_what_no_macro_may_is_refused(store: Store, sql: Sql, text: str, why: str):
    with pytest.raises(DefinitionError) as raised:
        build(store, sql(macro__ratio=RATIO, macro__m=text), {})
    assert raised.value.why == why


REQUESTS = a_model(
    """
    select
        case when range < $count then timestamptz '2026-04-24' + to_seconds(range // 7) end as started_at,
        hash(range) / 18446744073709551616.0 as duration_s
    from range($count + 5)
    """,
    "started_at",
    "duration_s",
)
MINUTES = a_model(
    """
    select
        time_bucket(interval 1 minute, started_at) as minute,
        count(*) as requests,
        quantile_cont(duration_s, 0.9) as p90_s,
        quantile_cont(duration_s, 0.5) as p50_s
    from norm.request
    group by minute
    order by minute
    """,
    "minute",
    "requests",
    "p90_s",
    "p50_s",
)


@pytest.mark.parametrize("at_once", [1, 419, 420, 421, 5000])
def test_minutes_of_many_requests_are_built_part_by_part(
    store: Store, sql: Sql, monkeypatch: pytest.MonkeyPatch, at_once: int
):
    folder = sql(norm__request=REQUESTS, mart__minutes=MINUTES)
    assert build(store, folder, {"count": 5000}) == {"norm.request": 5005, "mart.minutes": 13}
    whole = store.frame("from mart.minutes order by all")
    monkeypatch.setattr("tracemortem.warehouse.build._REQUESTS_AT_ONCE", at_once)
    assert build(store, folder, {"count": 5000}) == {"norm.request": 5005, "mart.minutes": 13}
    assert store.frame("from mart.minutes order by all").equals(whole)
    assert whole["requests"].sum() == 5005  # those without a time are in one of the parts


def test_minutes_of_more_requests_than_memory_holds_are_built(
    tmp_path: Path, sql: Sql, monkeypatch: pytest.MonkeyPatch
):
    folder = sql(norm__request=REQUESTS, mart__minutes=MINUTES)
    with Store(tmp_path / "x.duckdb", sql=folder, memory_limit="50MB", threads=1) as store:
        with pytest.raises(WarehouseError, match="more memory"):
            build(store, folder, {"count": 3_000_000})
        monkeypatch.setattr("tracemortem.warehouse.build._REQUESTS_AT_ONCE", 300_000)
        assert build(store, folder, {"count": 3_000_000}, ("mart",)) == {"mart.minutes": 7144}

"""A query by hand: what it gives, and what it cannot reach."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tracemortem.errors import WarehouseError
from tracemortem.warehouse import ask
from tracemortem.warehouse.publish import publish

Built = Callable[..., Path]


@pytest.fixture
def file(tmp_path: Path, built: Built) -> Path:
    publish(
        tmp_path / "out.duckdb.work",
        tmp_path / "out.duckdb",
        sql=built(),
        published_at=datetime(2026, 2, 3, 12, tzinfo=UTC),
        product_version="0",
    )
    return tmp_path / "out.duckdb"


def test_rows_come_as_a_frame_in_utc(file: Path):
    assert ask.sql(file, "select minute, n from mart.minute where n = 2").rows() == [
        (datetime(2026, 2, 3, 11, 2, tzinfo=UTC), 2)
    ]


@pytest.mark.parametrize("has_facts", [False, True])
@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("from read_csv('{here}/secret.csv')", "disabled by configuration"),
        ("from read_text('{here}/*')", "disabled by configuration"),
        ("from glob('{here}/*')", "disabled by configuration"),
        ("from read_csv('{here}/out.duckdb.lake/../secret.csv')", "disabled by configuration"),
        ("install httpfs", "disabled by configuration"),
        ("attach '{here}/other.duckdb'", "ATTACH may write"),
        ("copy mart.minute to '{here}/stolen.csv'", "COPY may write"),
        ("copy mart.minute to '{here}/out.duckdb.lake/made.csv'", "COPY may write"),
        ("select 1; copy mart.minute to '{here}/out.duckdb.lake/made.csv'", "COPY may write"),
        ("export database '{here}/out.duckdb.lake/made'", "EXPORT may write"),
    ],
)
def test_nothing_outside_the_file_can_be_reached(file: Path, query: str, why: str, has_facts: bool):
    (file.parent / "secret.csv").write_text("a\n1\n")
    if has_facts:
        (file.parent / "out.duckdb.lake").mkdir()
    with pytest.raises(WarehouseError) as raised:
        ask.sql(file, query.format(here=file.parent))
    assert raised.value.what == "the query reaches outside its file"
    assert why in raised.value.why
    assert not [*file.parent.rglob("made*"), *file.parent.rglob("stolen*"), *file.parent.rglob("other*")]


def test_the_facts_of_a_warehouse_can_be_read(file: Path):
    facts = file.with_name("out.duckdb.lake")
    facts.mkdir()
    (facts / "x.csv").write_text("a\n7\n")
    assert ask.sql(file, f"from read_csv('{facts}/x.csv')").rows() == [(7,)]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (
            "delete from mart.minute",
            'Invalid Input Error: Cannot execute statement of type "DELETE" on database "out"'
            " which is attached in read-only mode!",
        ),
        (
            "set enable_external_access = true",
            'Invalid Input Error: Cannot change configuration option "enable_external_access"'
            " - the configuration has been locked",
        ),
        ("select from", 'Parser Error: syntax error at or near "from"'),
        ("from mart.hour", "Catalog Error: Table with name hour does not exist!"),
    ],
)
def test_a_query_that_cannot_run_is_said_why(file: Path, query: str, why: str):
    with pytest.raises(WarehouseError) as raised:
        ask.sql(file, query)
    assert (raised.value.what, raised.value.where, raised.value.why) == ("the query does not run", query, why)


def test_no_query_gives_no_rows(file: Path):
    assert ask.sql(file, "").shape == (0, 0)


def test_types_polars_does_not_hold_come_as_text(file: Path):
    query = "select interval 1 hour as a, (65152::uhugeint << 112) as a, [interval 1 hour] as b"
    assert ask.sql(file, query).rows() == [
        ("01:00:00", "338288524927261089654018896841347694592", "['01:00:00']")
    ]


def test_columns_without_a_name_have_the_one_duckdb_gives_them(file: Path):
    frame = ask.sql(file, "select sum(minute.n * 1.5), sum(n), 1::uhugeint from mart.minute")
    assert frame.columns == ['sum(("minute".n * 1.5))', "sum(n)", "CAST(1 AS uhugeint)"]


def test_a_file_that_is_not_there_is_not_created(tmp_path: Path):
    with pytest.raises(WarehouseError, match=r"there is no x\.duckdb"):
        ask.sql(tmp_path / "x.duckdb", "select 1")
    assert list(tmp_path.iterdir()) == []

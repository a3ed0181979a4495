"""Every model, check and macro is held to its cases: tests/sql/<schema>/<table>/<sentence>.yaml.

why      what the case shows, in a sentence
params   the parameters the case is about; the rest have the project's values
given    table -> rows; only the columns that matter, the others are null; other tables are empty
expect   rows; only the columns the case is about, the same in each row; in any order
ordered  true if the order of the rows is part of the case

A check's rows are those that should not be: it has a case with such rows and one with none. A macro is given
nothing; it is expected to turn each `call`, written as SQL, into what it `gives`.
"""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tracemortem import declared, folders
from tracemortem.detect.watches import watches
from tracemortem.errors import DefinitionError
from tracemortem.warehouse import build, engine, header, macro, model, tables
from tracemortem.warehouse.store import Store

SQL = folders.folder("sql")
PACKAGE = Path(folders.__file__).parent
CASES = Path(__file__).parent / "sql"
FILES = sorted(CASES.rglob("*.yaml"))


def values() -> dict[str, float]:
    """Those of thresholds.yaml and the numbers of detection, as a run has them."""
    detection = {name: number for watch in watches().values() for name, number in watch.numbers.items()}
    found = {**declared.thresholds(PACKAGE / "thresholds.yaml"), **detection}
    return {name: threshold.value for name, threshold in found.items()}


def read(path: Path) -> dict[str, Any]:
    return declared.load(
        path, known=("why", "params", "given", "expect", "ordered"), required=("why", "given", "expect")
    )


def checks(sql: Path) -> list[model.Model]:
    with engine.connect(None) as con:
        abouts = [header.read(path) for path in sorted((sql / "check").glob("*.sql"))]
        found = [(about, model.select(con, about)) for about in abouts]
    return [model.Model(about, one.tables, one.parameters) for about, one in found]


class Bench:
    """An empty warehouse in memory: a table is created, without a row, once a case needs it."""

    def __init__(self, sql: Path, parameters: Mapping[str, engine.Value]) -> None:
        self.con = engine.connect(None)
        self.parameters = parameters
        self.declared = tables.declared(sql)
        self.models = {one.name: one for one in (*model.read(sql, self.declared), *checks(sql))}
        self.there: set[str] = set()
        macro.install(self.con, [one for one in macro.read(sql) if not one.is_table])

    def lay(self, table: str) -> None:
        """Create a table with the types it really has, and before that those it is made from.

        Every column may be null here, also where the declaration says `not null`: a case names what matters.
        """
        if table in self.there:
            return
        self.there.add(table)
        if table in self.declared:
            types = self.declared[table].types
        else:
            assert table in self.models, f"there is no table {table}"
            for read in sorted(self.models[table].reads):
                self.lay(read)
            types = build.columns(self.con, self.models[table], self.parameters)
        columns = ", ".join(
            f"{engine.identifier(name)} {'bigint' if kind == 'HUGEINT' else kind}"
            for name, kind in types.items()
        )
        self.con.execute(f"create schema if not exists {table.partition('.')[0]}")
        self.con.execute(f"create table {table} ({columns})")

    def run(self, path: Path) -> None:
        """Run one case; an AssertionError says what differs."""
        case = read(path)
        name = f"{path.parent.parent.name}.{path.parent.name}"
        if path.parent.parent.name == "macro":
            self._call(path.parent.name, case["expect"])
            return
        assert name in self.models, f"there is no model {name}"
        one = self.models[name]
        surplus = set(case.get("params") or {}) - one.parameters
        assert not surplus, f"{name} does not ask for {sorted(surplus)}"
        for table in (*case["given"], *sorted(one.reads)):
            self.lay(table)
        self.con.begin()
        try:
            for table, rows in case["given"].items():
                for row in rows or ():
                    self._insert(table, row)
            bound = model.bound(one.header, one.parameters, {**self.parameters, **(case.get("params") or {})})
            found = self.con.execute(one.header.body, bound or None)
            names = [column[0] for column in found.description]
            rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        finally:
            self.con.rollback()
        compare(case["expect"], rows, is_ordered=bool(case.get("ordered")))

    def _call(self, name: str, expected: Sequence[Mapping[str, Any]]) -> None:
        for row in expected:
            assert row["call"].startswith(f"{name}("), f"{row['call']} does not call {name}"
            found = self.con.execute(f"select {row['call']}").fetchall()[0][0]
            assert same(row["gives"], found), f"{row['call']} gives {found!r}, not {row['gives']!r}"

    def _insert(self, table: str, row: Mapping[str, Any]) -> None:
        columns = ", ".join(engine.identifier(column) for column in row)
        places = ", ".join(f"${number}" for number in range(1, len(row) + 1))
        try:
            self.con.execute(f"insert into {table} ({columns}) values ({places})", list(row.values()))
        except duckdb.Error as error:
            raise AssertionError(f"given {table} {row}: {engine.first_line(error)}") from error


def compare(
    expected: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]], *, is_ordered: bool
) -> None:
    """Hold rows to those expected, by the columns that these name."""
    columns = list(expected[0]) if expected else []
    for row in expected:
        assert list(row) == columns, f"each expected row names the same columns: {list(row)} is not {columns}"
    if found and expected:
        unknown = set(columns) - set(found[0])
        assert not unknown, f"the model has no column {sorted(unknown)}"
    shown = [{column: row[column] for column in columns} if columns else dict(row) for row in found]
    left = list(shown)
    for number, row in enumerate(expected):
        candidates = left[:1] if is_ordered else left
        match = next((one for one in candidates if same(row, one)), None)
        assert match is not None, f"expected row {number + 1}\n  {row}\nis not among\n  " + _lines(shown)
        left.remove(match)
    assert not left, "not expected\n  " + _lines(left)


def same(expected: Any, found: Any) -> bool:
    """Equal, floats to nine digits; an instant without zone is UTC, a day its midnight; null is only null."""
    if isinstance(found, datetime) and isinstance(expected, date):
        whole = expected if isinstance(expected, datetime) else datetime.combine(expected, time())
        return found == (whole if whole.tzinfo else whole.replace(tzinfo=UTC))
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        return expected.keys() == found.keys() and all(same(expected[key], found[key]) for key in expected)
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(same, expected, found))
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, int | float) and isinstance(found, int | float | Decimal):
        return math.isclose(expected, found, rel_tol=1e-9, abs_tol=1e-12)
    return bool(expected == found)


def _lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "\n  ".join(str(dict(row)) for row in rows) or "(no rows)"


@pytest.fixture(scope="session")
def bench() -> Bench:
    return Bench(SQL, values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CASES).with_suffix("").as_posix())
def test_a_model_gives_what_its_case_expects(bench: Bench, path: Path):
    bench.run(path)


def test_every_model_has_a_case():
    proven = {f"{path.parent.parent.name}.{path.parent.name}" for path in FILES}
    models = {one.name for one in (*model.read(SQL, tables.declared(SQL)), *checks(SQL))}
    macros = {f"macro.{one.name}" for one in macro.read(SQL)}
    assert sorted((models | macros) - proven) == []


def test_every_check_has_a_case_with_rows_that_should_not_be_and_one_without():
    found = {(path.parent.name, bool(read(path)["expect"])) for path in FILES if "check" in path.parts}
    wanted = {(path.stem, bad) for path in (SQL / "check").glob("*.sql") for bad in (True, False)}
    assert sorted(wanted - found) == []


def test_every_parameter_is_a_threshold_and_every_threshold_is_used():
    texts = [
        path.read_text(encoding="utf-8")
        for path in PACKAGE.rglob("*")
        if path.suffix in (".py", ".yaml") and path.name != "thresholds.yaml"
    ]
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    model.both_ways(SQL, tables.declared(SQL), values(), words)


def test_every_model_builds_where_there_is_no_row(tmp_path: Path):
    with Store(tmp_path / "x.duckdb", threads=1) as store:
        built = build.build(store, SQL, values())
    assert sorted(built) == sorted(one.name for one in model.read(SQL, tables.declared(SQL)))


LONG = """\
-- One row per kind of event.
--
-- kind   -      kind
-- first  UTC    first of it
-- n      count  events from $least lines on
-- share  ratio  of all
-- texts  -      what they say

select
    kind,
    min(event.at) as first,
    count_if(line >= $least) as n,
    count_if(line >= $least) / count(*) as share,
    list(text order by line) as texts
from raw.event
group by kind
"""
CASE = """\
why: an event counts from the line on
params: {least: 2}
given:
  raw.event:
    - {line: 1, at: 2026-02-03 11:00:00, kind: a, text: x}
    - {line: 2, at: 2026-02-03 11:00:01, kind: a}
    - {line: 3, at: 2026-02-03 11:00:02, kind: a}
    - {line: 4, at: 2026-02-03, kind: b}
expect:
  - {kind: b, n: 1, share: 1, first: 2026-02-03}
  - {kind: a, n: 2, share: 0.6666666666666, first: 2026-02-03 11:00:00}
"""


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    """A case of a small model, and in tmp_path/sql that model."""
    for schema in ("raw", "meta"):
        (tmp_path / "sql" / schema).mkdir(parents=True)
    event = (SQL / "raw" / "event.sql").read_text(encoding="utf-8")
    (tmp_path / "sql" / "raw" / "event.sql").write_text(event, encoding="utf-8")
    (tmp_path / "sql" / "norm").mkdir()
    (tmp_path / "sql" / "norm" / "long.sql").write_text(LONG, encoding="utf-8")
    case = tmp_path / "cases" / "norm" / "long" / "it_counts_from_the_line_on.yaml"
    case.parent.mkdir(parents=True)
    case.write_text(CASE, encoding="utf-8")
    return case


def test_a_case_compares_only_the_columns_it_names_in_any_order(trial: Path, tmp_path: Path):
    Bench(tmp_path / "sql", {"least": 9}).run(trial)


def test_a_case_leaves_nothing_for_the_next(trial: Path, tmp_path: Path):
    bench = Bench(tmp_path / "sql", {"least": 9})
    for _ in range(2):
        bench.run(trial)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param("n: 2,", "n: 3,", "expected row 2", id="another number"),
        pytest.param("n: 2,", "n: null,", "expected row 2", id="null for a number"),
        pytest.param("share: 0.6666666666666", "share: 0.66666", "expected row 2", id="a coarser float"),
        pytest.param("why:", "because:", "a key nobody reads: 'because'", id="key"),
        pytest.param("least: 2", "most: 2", r"norm\.long does not ask for \['most'\]", id="parameter"),
        pytest.param("raw.event:", "raw.events:", "there is no table raw.events", id="table"),
        pytest.param("text: x", "txt: x", "given raw.event .* does not have a column", id="given column"),
        pytest.param("n: 1, share", "n: 1, shore", "names the same columns", id="uneven rows"),
        pytest.param(" n:", " m:", r"the model has no column \['m'\]", id="expected column"),
        pytest.param(
            "  - {kind: b, n: 1, share: 1, first: 2026-02-03}\n", "", "not expected", id="surplus row"
        ),
        pytest.param("why:", "ordered: true\nwhy:", "expected row 1", id="order"),
    ],
)
def test_a_case_that_does_not_hold_says_what_differs(
    trial: Path, tmp_path: Path, old: str, new: str, said: str
):
    ordered = LONG.replace("group by kind", "group by kind\norder by kind")
    (tmp_path / "sql" / "norm" / "long.sql").write_text(ordered, encoding="utf-8")
    assert old in CASE
    trial.write_text(CASE.replace(old, new), encoding="utf-8")
    with pytest.raises((AssertionError, DefinitionError), match=said):
        Bench(tmp_path / "sql", {"least": 9}).run(trial)


def test_given_rows_of_a_model_take_its_types(trial: Path, tmp_path: Path):
    reader = (
        "-- One row per kind.\n--\n-- kind  -  kind\n\nselect kind from norm.long where n > 1 and share < 1\n"
    )
    (tmp_path / "sql" / "mart").mkdir()
    (tmp_path / "sql" / "mart" / "often.sql").write_text(reader, encoding="utf-8")
    case = trial.parents[2] / "mart" / "often" / "one.yaml"
    case.parent.mkdir(parents=True)
    case.write_text(
        'why: types\ngiven: {norm.long: [{kind: "1", n: 2, share: 0.5}]}\nexpect: [{kind: "1"}]\n',
        encoding="utf-8",
    )
    Bench(tmp_path / "sql", {"least": 9}).run(case)


@pytest.mark.parametrize(
    ("expected", "found", "is_same"),
    [
        (True, 1, False),
        (0, None, False),
        (None, None, True),
        (1, 1.0, True),
        (1.5, Decimal("1.5"), True),
        ("1", 1, False),
        (datetime(2026, 2, 3, 11), datetime(2026, 2, 3, 11, tzinfo=UTC), True),  # noqa: DTZ001 - as YAML gives it
        (date(2026, 2, 3), datetime(2026, 2, 3, tzinfo=UTC), True),
        ([{"a": 0.1}], [{"a": 0.1 + 1e-12}], True),
        ([1, 2], [1], False),
    ],
)
def test_values_are_the_same_by_meaning(expected: object, found: object, is_same: bool):
    assert same(expected, found) is is_same

"""A warehouse of many days: each is told once, late records tell it again, what was cut short is made up."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from days.made import FIRST, Plan, Trouble, write_day
from tracemortem import pipeline
from tracemortem.errors import SettingError, WarehouseError
from tracemortem.settings import Settings
from tracemortem.warehouse.ask import sql

pytestmark = pytest.mark.slow

PLAN = Plan(requests=6000, troubles=(Trouble("long", 1, 617, 48), Trouble("slow", 1, 1415, 50)))
DAYS = [(FIRST + timedelta(days=day)).isoformat() for day in range(3)]
TELLING = ("meta.coverage", "mart.figure_day", "mart.latency_minute", "evidence.impact", "norm.request")

Daily = Callable[..., pipeline.Outcome]


def epoch(day: int) -> str:
    """Two in the morning of a day, as SOURCE_DATE_EPOCH has it."""
    return str(round(datetime(FIRST.year, FIRST.month, FIRST.day + day, 2, tzinfo=UTC).timestamp()))


def settings(folder: Path, **changed: Any) -> Settings:
    made = Settings(
        inputs=(str(folder / "in"),), db=str(folder / "w.duckdb"), out=str(folder / "out"), objective="p99=4s"
    )
    return replace(made, **changed)


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    return sql(folder / "w.duckdb", query).rows()


def told(folder: Path) -> dict[str, pl.DataFrame]:
    """What the warehouse says, but when it was said."""
    return {
        table: sql(
            folder / "w.duckdb",
            f"select * {'exclude (told_at)' if table == 'meta.coverage' else ''} from {table} order by all",
        )
        for table in TELLING
    }


def report(folder: Path, day: str) -> dict[str, Any]:
    return json.loads((folder / "out" / day / "daily.json").read_bytes())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three days, told in one run on the fourth; not to be written to."""
    folder = tmp_path_factory.mktemp("days")
    for day in range(3):
        write_day(PLAN, day, folder / "in")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", epoch(3))
        outcome = pipeline.daily(settings(folder))
    assert [line.partition(":")[0] for line in outcome.lines] == DAYS
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, to go on with on the fourth day. The facts are views that name where they lie."""
    shutil.copytree(made / "in", tmp_path / "in", copy_function=shutil.copy2)
    shutil.copytree(made / "w.duckdb.lake", tmp_path / "w.duckdb.lake")
    shutil.copy2(made / "w.duckdb.work", tmp_path / "w.duckdb.work")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch(3))
    return tmp_path


def test_every_day_has_its_report_and_that_of_its_incidents(made: Path):
    assert sorted(path.name for path in (made / "out").iterdir()) == DAYS
    for day in DAYS:
        names = {path.name for path in (made / "out" / day).iterdir()}
        assert names == {f"{of}.{kind}" for of in ("daily", "report") for kind in ("html", "json", "md")}
    confirmed = {
        day: [one["id"] for one in report(made, day)["incidents"] if one["status"] == "confirmed"]
        for day in DAYS
    }
    assert confirmed[DAYS[0]] == []
    assert [one[:11] for one in confirmed[DAYS[1]]] == ["20260303T10", "20260303T23"]
    assert confirmed[DAYS[2]] == confirmed[DAYS[1]][1:]  # over midnight, told whole by the next day
    ids = [
        one["id"] for one in json.loads(rows(made, "select diagnosis from meta.diagnosis")[0][0])["incidents"]
    ]
    assert len(ids) == len(set(ids))


def test_figures_by_day_are_those_of_its_records(made: Path):
    lines = {day: len((made / "in/gateway" / f"access-{day}.log").read_text().splitlines()) for day in DAYS}
    counted = "select day::varchar, value::bigint from mart.figure_day where figure = 'requests'"
    assert dict(rows(made, counted)) == lines
    assert (
        dict(rows(made, "select started_at::date::varchar, count(*) from norm.request group by all")) == lines
    )
    by_minute = "select minute::date::varchar, sum(requests)::bigint from mart.latency_minute group by all"
    assert dict(rows(made, by_minute)) == lines


def test_a_young_warehouse_says_that_it_does_not_know_what_is_usual(made: Path):
    text = (made / "out" / DAYS[2] / "daily.md").read_text()
    assert "What is usual is not known yet: 1 of 7 quiet days" in text
    assert report(made, DAYS[2])["unusual"] == {"figures": [], "sources": [], "reporters": []}


def test_what_was_promised_is_counted_by_month(made: Path):
    [month] = report(made, DAYS[2])["objective"]
    over = "select sum(value)::bigint from mart.figure_day where figure = 'over_objective'"
    assert (month["month"], month["days"]) == ("2026-03-01", 3)
    assert [(month["over"],)] == rows(made, over)
    assert month["used_ratio"] == pytest.approx(month["over"] / (month["measured"] / 100))


def test_another_run_finds_nothing_to_do(copy: Path):
    outcome = pipeline.daily(settings(copy))
    assert outcome.lines == ("No day is to be reported: each that is over was, and nothing new came in.",)
    assert outcome.report is None


def test_records_that_come_late_tell_their_day_again_and_nothing_twice(copy: Path):
    late = copy / "in/gateway/late.log"
    line = (copy / "in/gateway" / f"access-{DAYS[0]}.log").read_text().splitlines()[100]
    late.write_text(line.replace('"id":"r', '"id":"late') + "\n", encoding="utf-8")
    outcome = pipeline.daily(settings(copy))
    assert [one.partition(":")[0] for one in outcome.lines] == DAYS[:1]
    requests = "select value::bigint from mart.figure_day where figure = 'requests' order by day"
    counts = "select count(*) from norm.request group by started_at::date order by started_at::date"
    first = len((copy / "in/gateway" / f"access-{DAYS[0]}.log").read_text().splitlines())
    assert rows(copy, requests)[0] == rows(copy, counts)[0] == (first + 1,)
    assert rows(copy, "select count(*), count(distinct day) from meta.coverage") == [(3, 3)]


def test_a_day_that_is_not_over_is_told_only_when_asked_for(copy: Path):
    write_day(PLAN, 3, copy / "in")
    assert pipeline.daily(settings(copy)).report is None
    outcome = pipeline.daily(settings(copy, inputs=(), day="2026-03-05"))
    assert [one.partition(":")[0] for one in outcome.lines] == ["2026-03-05"]
    with pytest.raises(SettingError, match="no record of 2026-03-09"):
        pipeline.daily(settings(copy, inputs=(), day="2026-03-09"))


def test_what_is_older_than_is_kept_goes_and_its_figures_stay(copy: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch(4))
    outcome = pipeline.daily(settings(copy, overrides=("keep_raw_days=2",)))
    assert outcome.report is None
    assert rows(copy, "select distinct started_at::date::varchar from norm.request") == [(DAYS[2],)]
    assert [
        row[0] for row in rows(copy, "select distinct day::varchar from mart.figure_day order by all")
    ] == DAYS
    assert not list((copy / "w.duckdb.lake").glob(f"norm/*/day={DAYS[0]}"))
    pipeline.daily(settings(copy, overrides=("keep_raw_days=2",)))  # the files are still there
    assert rows(
        copy, "select count(*) from mart.latency_minute where minute::date::varchar = '2026-03-02'"
    ) != [(0,)]


@pytest.mark.parametrize("job", [pipeline.postmortem, pipeline.ingest])
def test_a_job_on_all_records_at_once_leaves_a_warehouse_alone(job: Daily, copy: Path):
    before = (copy / "w.duckdb.work").read_bytes()
    with pytest.raises(WarehouseError, match="warehouse of many days"):
        job(settings(copy, out=str(copy / "other")))
    assert (copy / "w.duckdb.work").read_bytes() == before


def test_an_exported_file_needs_no_other(copy: Path, tmp_path: Path):
    pipeline.daily(settings(copy, export=str(tmp_path / "alone.duckdb")))
    asked = "from norm.request order by all", "select comment from duckdb_columns() where comment is not null"
    given = [sql(copy / "w.duckdb", query) for query in asked]
    shutil.rmtree(copy / "w.duckdb.lake")
    (copy / "w.duckdb").unlink()
    assert sql(tmp_path / "alone.duckdb", asked[0]).equals(given[0])
    assert sorted(sql(tmp_path / "alone.duckdb", asked[1]).rows()) == sorted(given[1].rows())


def test_a_second_file_is_not_the_first(copy: Path):
    with pytest.raises(SettingError, match="is the file of --db"):
        pipeline.daily(settings(copy, export=str(copy / "w.duckdb")))


def test_a_path_that_parquet_could_not_be_found_under_is_refused(made: Path, tmp_path: Path):
    with pytest.raises(SettingError, match="cannot have facts beside it"):
        pipeline.daily(settings(made, db=str(tmp_path / "[x]" / "w.duckdb")))


def test_a_run_that_is_killed_is_done_by_the_next_as_if_nothing_had_been(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repo_root: Path
):
    shutil.copytree(made / "in", tmp_path / "in", copy_function=shutil.copy2)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch(3))
    monkeypatch.setenv("PYTHONPATH", str(repo_root / "pipelines"))
    command = [sys.executable, "-m", "tracemortem", "daily", tmp_path / "in", "--db", tmp_path / "w.duckdb"]
    run = subprocess.Popen(
        [*command, "--out", tmp_path / "out", "--objective", "p99=4s", "--quiet"], stdout=subprocess.DEVNULL
    )
    second = tmp_path / "w.duckdb.lake/norm/request" / f"day={DAYS[1]}"
    until = time.monotonic() + 120
    while not second.exists():  # in the midst of keeping the second day
        assert run.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    run.kill()
    run.wait()
    outcome = pipeline.daily(settings(tmp_path))
    assert [one.partition(":")[0] for one in outcome.lines][-1:] == DAYS[2:]
    assert 2 <= len(outcome.lines) + 1 <= 3
    for table, frame in told(made).items():
        assert frame.equals(told(tmp_path)[table]), table
    assert not list(tmp_path.glob("*.day*"))

"""The work file: loaded whole or not at all, held by one, handing out frames."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tracemortem import folders
from tracemortem.declared import Threshold
from tracemortem.errors import WarehouseError
from tracemortem.warehouse.store import Store

Rows = Callable[..., pl.DataFrame]
FILE = {"path": "day/events.jsonl", "sha256": "ab12", "size": 90, "kind": "event", "format_name": "events"}


def test_a_loaded_file_is_accounted_for_record_by_record(store: Store, events: Rows, rejects: Rows):
    store.begin_run(started_at=datetime(2026, 2, 3, tzinfo=UTC), product_version="1.2.3", settings="{}")
    with store.loading(**FILE) as load:
        load.append({"event": events("a", "b")}, rejects("no time"), records=3, stored=2, bytes_read=60)
        load.append({"event": events("c")}, rejects(), records=1, stored=1, bytes_read=30)
    assert store.frame("from meta.input").to_dicts() == [
        {
            "file_id": 1,
            "path": "day/events.jsonl",
            "sha256": "ab12",
            "bytes": 90,
            "kind": "event",
            "format": "events",
            "rows": 3,
            "rejects": 1,
            "records": 4,
            "bytes_read": 90,
            "first_at": datetime(2026, 2, 3, 11, 0, 1, tzinfo=UTC),
            "last_at": datetime(2026, 2, 3, 11, 0, 2, tzinfo=UTC),
            "clock": None,
            "ingested_in_run": 1,
            "replaced_by": None,
        }
    ]


def test_the_names_that_columns_were_taken_from_are_summed_over_a_file(
    store: Store, events: Rows, rejects: Rows
):
    new, old = ("prompt_tokens", "gen_ai.usage.input_tokens"), ("prompt_tokens", "llm.token_count.prompt")
    with store.loading(**FILE) as load:
        for names in ({new: 2}, {new: 3, old: 1}, None):
            load.append({"event": events("a")}, rejects(), records=1, stored=1, bytes_read=1, names=names)
    assert store.frame("from meta.name_used order by all").rows() == [
        (1, "span.prompt_tokens", "gen_ai.usage.input_tokens", 5),
        (1, "span.prompt_tokens", "llm.token_count.prompt", 1),
    ]


def test_rows_and_rejects_carry_the_number_of_their_file(store: Store, events: Rows, rejects: Rows):
    for number, sha256 in enumerate(("one", "two"), start=1):
        with store.loading(**FILE | {"sha256": sha256}) as load:
            load.append(
                {"event": events(sha256)}, rejects(f"reason {number}"), records=2, stored=1, bytes_read=1
            )
    assert store.frame("select file_id, text from raw.event order by all").rows() == [(1, "one"), (2, "two")]
    assert store.frame("select file_id, reason from meta.reject order by all").rows() == [
        (1, "reason 1"),
        (2, "reason 2"),
    ]


def test_the_time_span_of_a_file_is_that_of_all_its_instants(store: Store, rejects: Rows):
    span = store.frame("select * exclude file_id from raw.span").clear(1)
    one = span.with_columns(
        line=pl.lit(1, pl.UInt64), finished_at=pl.lit(datetime(2026, 2, 3, 8, tzinfo=UTC))
    )
    two = span.with_columns(line=pl.lit(2, pl.UInt64), started_at=pl.lit(datetime(2026, 2, 3, 9, tzinfo=UTC)))
    with store.loading(**FILE) as load:
        load.append({"span": pl.concat([one, two])}, rejects(), records=2, stored=2, bytes_read=1)
    assert (load.first_at, load.last_at) == (
        datetime(2026, 2, 3, 8, tzinfo=UTC),
        datetime(2026, 2, 3, 9, tzinfo=UTC),
    )


def test_a_file_that_fails_halfway_leaves_nothing(store: Store, events: Rows, rejects: Rows):
    def half() -> None:
        with store.loading(**FILE) as load:
            load.append({"event": events("a")}, rejects("bad"), records=2, stored=1, bytes_read=1)
            raise OSError("unplugged")

    with pytest.raises(OSError, match="unplugged"):
        half()
    left = [store.scalar(f"select count(*) from {t}") for t in ("raw.event", "meta.reject", "meta.input")]
    assert left == [0, 0, 0]


def test_a_file_whose_process_is_killed_halfway_leaves_nothing(tmp_path: Path):
    loader = textwrap.dedent("""
        import os, signal, sys, pathlib, polars as pl
        from tracemortem.warehouse.store import Store
        with Store(pathlib.Path(sys.argv[1]), threads=1) as store:
            rejects = store.frame("select * exclude file_id from meta.reject")
            for sha256 in ("whole", "half"):
                with store.loading(path="p", sha256=sha256, size=1, kind="event", format_name="f") as load:
                    rows = store.frame("select 1::ubigint as line, now() as at, 'k' as kind, 't' as text "
                                       "from range(200000)")
                    load.append({"event": rows}, rejects, records=200000, stored=200000, bytes_read=1)
                    if sha256 == "half":
                        os.kill(os.getpid(), signal.SIGKILL)
    """)
    ended = subprocess.run(
        [sys.executable, "-c", loader, str(tmp_path / "x.duckdb")],
        env={**os.environ, "PYTHONPATH": str(Path(folders.__file__).parents[1])},
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    with Store(tmp_path / "x.duckdb") as store:
        assert store.frame("select sha256, rows from meta.input").rows() == [("whole", 200_000)]
        assert store.scalar("select count(*) from raw.event") == 200_000


def test_what_an_earlier_run_skipped_is_forgotten_and_what_this_one_skipped_is_not(store: Store):
    for _ in range(2):
        store.begin_run(started_at=datetime(2026, 2, 3, tzinfo=UTC), product_version="1.2.3", settings="{}")
        for _ in range(2):  # of two folders, say
            store.forget_skipped("README")
            with store.loading(
                path="README", sha256="cd", size=5, kind="skipped", format_name="no telemetry"
            ):
                pass
    assert (
        store.frame("select path, kind, format, ingested_in_run from meta.input").rows()
        == [("README", "skipped", "no telemetry", 2)] * 2
    )


def test_a_lost_record_is_refused(store: Store, events: Rows, rejects: Rows):
    with (
        pytest.raises(ValueError, match="3 records, but 1 stored and 1 rejected"),
        store.loading(**FILE) as load,
    ):
        load.append({"event": events("a")}, rejects("bad"), records=3, stored=1, bytes_read=1)


def test_a_column_of_another_type_is_refused_since_duckdb_would_convert_it(
    store: Store, events: Rows, rejects: Rows
):
    texts = events("a").with_columns(line=pl.lit("1"))
    with (
        pytest.raises(ValueError, match=r"raw\.event\.line is declared UBIGINT, the rows have VARCHAR"),
        store.loading(**FILE) as load,
    ):
        load.append({"event": texts}, rejects(), records=1, stored=1, bytes_read=1)


def test_a_missing_column_is_refused_since_duckdb_would_leave_it_empty(
    store: Store, events: Rows, rejects: Rows
):
    with (
        pytest.raises(ValueError, match=r"raw\.event\.kind is declared VARCHAR, the rows have None"),
        store.loading(**FILE) as load,
    ):
        load.append({"event": events("a").drop("kind")}, rejects(), records=1, stored=1, bytes_read=1)


def test_another_process_is_told_who_holds_the_file(store: Store):
    opener = textwrap.dedent("""
        import pathlib, sys
        from tracemortem.errors import WarehouseError
        from tracemortem.warehouse.store import Store
        try:
            with Store(pathlib.Path(sys.argv[1])):
                pass
        except WarehouseError as error:
            print(error.what, "|", error.why)
    """)
    said = subprocess.run(
        [sys.executable, "-c", opener, str(store.work).removesuffix(".work")],
        env={**os.environ, "PYTHONPATH": str(Path(folders.__file__).parents[1])},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert said.startswith(f"out.duckdb.work is in use | process {os.getpid()} (")


def test_the_same_process_cannot_open_the_file_twice(store: Store, tmp_path: Path):
    with pytest.raises(WarehouseError, match="this same process has it open"), Store(tmp_path / "out.duckdb"):
        pass


def test_a_closed_store_can_be_opened_again_with_all_it_held(tmp_path: Path, events: Rows, rejects: Rows):
    with Store(tmp_path / "x.duckdb") as store, store.loading(**FILE) as load:
        load.append({"event": events("a")}, rejects(), records=1, stored=1, bytes_read=1)
    with Store(tmp_path / "x.duckdb") as store:
        assert store.frame("select text from raw.event").rows() == [("a",)]


def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path: Path):
    (tmp_path / "x.duckdb.work").write_text("hello world" * 1000)
    with (
        pytest.raises(WarehouseError, match="not a valid DuckDB database file"),
        Store(tmp_path / "x.duckdb"),
    ):
        pass


def test_a_place_that_cannot_be_a_folder_is_said(tmp_path: Path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(WarehouseError, match="there is no place for x"),
        Store(tmp_path / "file" / "x.duckdb"),
    ):
        pass


def test_a_work_file_with_other_raw_columns_is_refused(tmp_path: Path, sql: Callable[..., Path]):
    folder = sql()
    with Store(tmp_path / "x.duckdb", sql=folder):
        pass
    event = folder / "raw" / "event.sql"
    event.write_text(
        event.read_text().replace("-- kind ", "-- sort ").replace("kind varchar", "sort varchar")
    )
    with pytest.raises(WarehouseError) as raised, Store(tmp_path / "x.duckdb", sql=folder):
        pass
    assert raised.value.why == "raw.event has other columns: kind, sort"


def test_a_refused_work_file_is_let_go(tmp_path: Path, sql: Callable[..., Path]):
    folder = sql()
    with Store(tmp_path / "x.duckdb", sql=folder) as store:
        store.run("alter table raw.event add column more integer")
    with pytest.raises(WarehouseError), Store(tmp_path / "x.duckdb", sql=folder):
        pass
    duckdb.connect(tmp_path / "x.duckdb.work").close()


def test_the_file_can_be_read_by_the_oldest_duckdb_promised(store: Store):
    found = store.scalar("select tags['storage_version'] from duckdb_databases() where not internal")
    assert found == "v1.4.0+"


def test_every_raw_and_meta_column_is_commented(store: Store):
    bare = store.frame(
        "select table_name, column_name from duckdb_columns() where not internal and comment is null"
        " union all select table_name, null from duckdb_tables() where comment is null"
    )
    assert bare.rows() == []


def test_replace_leaves_only_the_new_rows(store: Store):
    def incident(name: str) -> pl.DataFrame:
        return store.frame("from raw.incident").clear(1).with_columns(incident_id=pl.lit(name))

    store.replace("raw.incident", [incident("first")])
    store.replace("raw.incident", [incident("second")])
    assert store.frame("select incident_id from raw.incident").rows() == [("second",)]


def test_a_replacement_that_does_not_fit_leaves_the_old_rows(store: Store):
    frame = store.frame("from raw.incident").clear(1).with_columns(incident_id=pl.lit("first"))
    store.replace("raw.incident", [frame])
    with pytest.raises(ValueError, match="status"):
        store.replace("raw.incident", [frame.drop("status")])
    assert store.scalar("select incident_id from raw.incident") == "first"


def test_thresholds_are_those_of_the_last_run(store: Store):
    store.record_thresholds({"x": Threshold("x", 1, "s", "why", "project default")})
    store.record_thresholds({"x": Threshold("x", 2.5, "s", "why", "set by the user")})
    assert store.frame("from meta.threshold").rows() == [("x", 2.5, "s", "why", "set by the user")]


def test_a_session_is_in_utc_and_downloads_nothing(store: Store):
    found = store.frame(
        "select name, value from duckdb_settings() where name in ('TimeZone', 'autoinstall_known_extensions',"
        " 'autoload_known_extensions', 'python_enable_replacements', 'memory_limit') order by name"
    ).rows()
    assert found == [
        ("TimeZone", "UTC"),
        ("autoinstall_known_extensions", "false"),
        ("autoload_known_extensions", "false"),
        ("memory_limit", "488.2 MiB"),
        ("python_enable_replacements", "false"),
    ]


def test_a_frame_has_polars_types_that_hold_every_value(store: Store):
    frame = store.frame(
        "select sum(1) as total, (65152::uhugeint << 112) as ip, timestamptz '2026-02-03 11:00:00' as at,"
        " interval 1 minute as length, $x as given",
        {"x": 0.5},
    )
    assert dict(frame.schema) == {
        "total": pl.Int64(),
        "ip": pl.String(),
        "at": pl.Datetime("us", "UTC"),
        "length": pl.String(),
        "given": pl.Float64(),
    }
    assert frame.row(0) == (
        1,
        "338288524927261089654018896841347694592",
        datetime(2026, 2, 3, 11, tzinfo=UTC),
        "00:01:00",
        0.5,
    )


def test_a_scalar_of_no_row_is_none(store: Store):
    assert store.scalar("select file_id from meta.input where path = $path", {"path": "x"}) is None


def test_work_that_takes_too_much_memory_says_so(tmp_path: Path):
    with Store(tmp_path / "x.duckdb", memory_limit="20MB", threads=1) as store:
        store.run("set max_temp_directory_size = '0MB'")
        with pytest.raises(WarehouseError) as raised:
            store.frame("select list(hash(range)) from range(20000000)")
    assert raised.value.what == "the work takes more memory than it may use"

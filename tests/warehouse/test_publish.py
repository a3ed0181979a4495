"""The published file: complete, read-only, replaced in one step or not at all."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from tracemortem import folders
from tracemortem.errors import DefinitionError, WarehouseError
from tracemortem.warehouse import ask
from tracemortem.warehouse.publish import SCHEMA_VERSION, publish
from tracemortem.warehouse.store import Store

Built = Callable[..., Path]
AT = datetime(2026, 2, 3, 12, tzinfo=UTC)


def published(tmp_path: Path, sql: Path) -> tuple[Path, tuple[str, ...]]:
    file = tmp_path / "out.duckdb"
    work = tmp_path / "out.duckdb.work"
    warnings = publish(work, file, sql=sql, published_at=AT, product_version="1.2.3", memory_limit="500MB")
    return file, warnings


def beside(file: Path) -> set[str]:
    return {path.name for path in file.parent.iterdir() if path.name.startswith((file.name, f".{file.name}"))}


def test_everything_but_raw_is_published(tmp_path: Path, built: Built):
    sql = built()
    file, warnings = published(tmp_path, sql)
    tables = ask.sql(file, "select schema_name || '.' || table_name from duckdb_tables()")
    meta = {f"meta.{path.stem}" for path in (sql / "meta").glob("*.sql")}
    assert {name for (name,) in tables.rows()} == {"mart.minute", *meta}
    assert ask.sql(file, "select sum(n) from mart.minute").rows() == [(3,)]
    assert warnings == ()


def test_the_file_says_when_and_by_what_it_was_written(tmp_path: Path, built: Built):
    file, _ = published(tmp_path, built())
    assert ask.sql(file, "from meta.published").rows() == [(AT, "1.2.3", SCHEMA_VERSION)]


def test_every_table_and_column_is_commented(tmp_path: Path, built: Built):
    file, _ = published(tmp_path, built())
    bare = "select table_name from duckdb_tables() where comment is null"
    bare_columns = "select column_name from duckdb_columns() where comment is null and not internal"
    assert ask.sql(file, f"{bare} union all {bare_columns}").rows() == []
    said = "select comment from duckdb_columns() where schema_name = 'mart' and column_name = 'minute'"
    assert ask.sql(file, said).rows() == [("it's the start [UTC]",)]


def test_macros_answer_in_the_file(tmp_path: Path, built: Built):
    file, _ = published(tmp_path, built())
    assert ask.sql(file, "select ratio(1, 4), ratio(1, 0)").rows() == [(0.25, None)]
    assert ask.sql(file, "from busy(0) order by n").rows() == [(1,), (2,)]


def test_views_come_with_their_comments(tmp_path: Path, built: Built):
    sql = built()
    with Store(tmp_path / "out.duckdb", sql=sql) as store:
        store.run("create view mart.hour as select n from mart.minute where n > 1")
        store.run("comment on view mart.hour is 'all of it'; comment on column mart.hour.n is 'requests'")
    file, _ = published(tmp_path, sql)
    assert ask.sql(file, "from mart.hour").rows() == [(2,)]
    assert ask.sql(
        file,
        "select comment from duckdb_views() where view_name = 'hour' union all "
        "select comment from duckdb_columns() where table_name = 'hour'",
    ).rows() == [("all of it",), ("requests",)]


def test_the_file_is_read_only_and_nothing_lies_beside_it(tmp_path: Path, built: Built):
    file, _ = published(tmp_path, built())
    assert stat.S_IMODE(file.stat().st_mode) == 0o444
    assert beside(file) == {"out.duckdb", "out.duckdb.work"}


def test_a_reader_keeps_its_old_rows_and_the_next_gets_the_new(tmp_path: Path, built: Built):
    file, _ = published(tmp_path, built(3))
    with duckdb.connect(file, read_only=True) as reader:
        published(tmp_path, built(5))
        assert reader.sql("select count(*) from mart.minute").fetchall() == [(3,)]
    assert ask.sql(file, "select count(*) from mart.minute").rows() == [(5,)]


def test_a_publication_that_fails_leaves_the_old_file_and_no_scraps(tmp_path: Path, built: Built):
    file, _ = published(tmp_path, built())
    before = file.read_bytes()
    sql = built(5)
    (sql / "macro" / "busy.sql").write_text(
        "-- No.\ncreate or replace macro busy(a) as table from mart.nothing\n"
    )
    with pytest.raises(DefinitionError, match="macro busy cannot be created"):
        published(tmp_path, sql)
    assert file.read_bytes() == before
    assert beside(file) == {"out.duckdb", "out.duckdb.work"}


def test_a_place_that_cannot_be_written_is_said_and_left_alone(tmp_path: Path, built: Built):
    sql = built()
    (tmp_path / "out.duckdb").mkdir()
    with pytest.raises(WarehouseError) as raised:
        published(tmp_path, sql)
    assert raised.value.what == "out.duckdb cannot be published"
    assert beside(tmp_path / "out.duckdb") == {"out.duckdb", "out.duckdb.work"}


def test_a_work_file_still_open_is_not_published(tmp_path: Path, built: Built):
    sql = built()
    with Store(tmp_path / "out.duckdb", sql=sql), pytest.raises(WarehouseError, match="already attached"):
        published(tmp_path, sql)
    assert not (tmp_path / "out.duckdb").exists()


def test_a_stale_log_beside_the_file_is_moved_aside_and_reported(tmp_path: Path, built: Built):
    sql = built()
    file, _ = published(tmp_path, sql)
    (tmp_path / "out.duckdb.wal").write_bytes(b"changes of somebody")
    _, warnings = published(tmp_path, sql)
    assert warnings == (
        "somebody wrote to out.duckdb, which every run replaces; their changes are in out.duckdb.wal.stale",
    )
    assert (tmp_path / "out.duckdb.wal.stale").read_bytes() == b"changes of somebody"
    assert ask.sql(file, "select count(*) from mart.minute").rows() == [(3,)]


def test_a_publisher_killed_before_the_swap_leaves_the_old_file_and_the_next_one_clears_up(
    tmp_path: Path, built: Built
):
    file, _ = published(tmp_path, built(3))
    sql = built(5)
    killed = textwrap.dedent("""
        import os, pathlib, signal, sys
        from datetime import UTC, datetime
        from tracemortem.warehouse import publish
        publish._to_disk = lambda path: os.kill(os.getpid(), signal.SIGKILL)
        work, file, sql = map(pathlib.Path, sys.argv[1:])
        publish.publish(work, file, sql=sql, published_at=datetime.now(UTC), product_version="0")
    """)
    ended = subprocess.run(
        [sys.executable, "-c", killed, str(tmp_path / "out.duckdb.work"), str(file), str(sql)],
        env={**os.environ, "PYTHONPATH": str(Path(folders.__file__).parents[1])},
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    assert ask.sql(file, "select count(*) from mart.minute").rows() == [(3,)]
    assert len(beside(file)) == 3
    published(tmp_path, sql)
    assert ask.sql(file, "select count(*) from mart.minute").rows() == [(5,)]
    assert beside(file) == {"out.duckdb", "out.duckdb.work"}


def test_the_unfinished_file_of_a_living_publisher_stays(tmp_path: Path, built: Built):
    other = tmp_path / f".out.duckdb.{os.getppid()}.tmp"
    other.write_bytes(b"half")
    file, _ = published(tmp_path, built())
    assert beside(file) == {"out.duckdb", "out.duckdb.work", other.name}

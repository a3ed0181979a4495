"""Checks: rows that should not be, counted and shown."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tracemortem.errors import DefinitionError
from tracemortem.warehouse import check
from tracemortem.warehouse.check import Checked
from tracemortem.warehouse.store import Store

Sql = Callable[..., Path]
LATE = """\
-- Events after line $last_line.
--
-- The timeline may be out of order.

select kind, text, null as nothing from raw.event where line > $last_line
"""


@pytest.fixture
def three_events(
    store: Store, events: Callable[..., pl.DataFrame], rejects: Callable[..., pl.DataFrame]
) -> None:
    with store.loading(path="p", sha256="ab", size=1, kind="event", format_name="events") as load:
        load.append({"event": events("a", "b", "c")}, rejects(), records=3, stored=3, bytes_read=1)


@pytest.mark.usefixtures("three_events")
def test_a_check_with_rows_shows_how_many_and_the_first(store: Store, sql: Sql):
    assert check.run(store, sql(check__warn_late_events=LATE), {"last_line": 1}) == (
        Checked(
            name="late_events",
            status="warn",
            rows=2,
            first="kind deploy, text b",
            about="Events after line $last_line.",
            limits="The timeline may be out of order.",
        ),
    )


@pytest.mark.usefixtures("three_events")
def test_a_check_without_rows_is_ok(store: Store, sql: Sql):
    found = check.run(store, sql(check__fail_late_events=LATE), {"last_line": 3})
    assert [(one.status, one.rows, one.first) for one in found] == [("ok", 0, "")]


@pytest.mark.usefixtures("three_events")
def test_checks_come_in_the_order_of_their_files(store: Store, sql: Sql):
    found = check.run(
        store, sql(check__warn_b=LATE, check__fail_c=LATE, check__warn_a=LATE), {"last_line": 2}
    )
    assert [(one.name, one.status) for one in found] == [("c", "fail"), ("a", "warn"), ("b", "warn")]


def test_a_check_must_say_how_bad_its_rows_are(store: Store, sql: Sql):
    with pytest.raises(DefinitionError, match="a check's name begins with fail_ or warn_"):
        check.run(store, sql(check__late=LATE), {"last_line": 1})


def test_a_check_that_does_not_run_is_named(store: Store, sql: Sql):
    with pytest.raises(DefinitionError, match="check warn_x does not run"):
        check.run(store, sql(check__warn_x="-- Nothing.\n\nselect nothing from raw.event\n"), {})

"""What a run is told is checked before anything is read."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tracemortem.errors import SettingError
from tracemortem.settings import Settings, instant, networks, span, zone

PLAIN = Settings(inputs=("spans.jsonl",), out="out")


def refused(**settings: Any) -> str:
    with pytest.raises(SettingError) as caught:
        Settings(**{"inputs": ("spans.jsonl",), **settings}).checked()
    return caught.value.what


def test_settings_that_make_sense_are_given_back():
    full = Settings(
        inputs=("a", "b"),
        out="out",
        db="x.duckdb",
        time_from="2026-04-24T02:00",
        time_to="2026-04-24T03:00",
        window="2026-04-24T02:17Z/2026-04-24T02:51Z",
        timezone="Asia/Shanghai",
        start="2026-04-24T02:00:00Z",
        every_s=15.0,
        trusted_proxies="10.0.0.0/8",
        overrides=("lead_minutes=5",),
        max_rejects=1.0,
    )
    assert full.checked() == full


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"inputs": ("",)}, "INPUT is empty"),
        ({"out": ""}, "--out is empty"),
        ({"db": ""}, "--db is empty"),
        ({"db": "."}, ". is a folder"),
        ({"db": ".."}, ".. is a folder"),
        ({"timezone": "Mars/Olympus"}, "no time zone is called 'Mars/Olympus'"),
        ({"timezone": "../../etc/passwd"}, "no time zone is called '../../etc/passwd'"),
        ({"timezone": ""}, "no time zone is called ''"),
        ({"time_from": "yesterday"}, "'yesterday' is no time"),
        ({"time_to": "2026-13-01"}, "'2026-13-01' is no time"),
        (
            {"time_from": "2026-04-24T03:00Z", "time_to": "2026-04-24T03:00Z"},
            "no time is left between --from and --to",
        ),
        ({"window": "2026-04-24T02:17Z"}, "'2026-04-24T02:17Z' is no window"),
        ({"window": "2026-04-24T02:17Z/2026-04-24T02:17Z"}, "the window is empty"),
        ({"every_s": -1.0}, "--every -1 is no distance between samples"),
        ({"trusted_proxies": "10.0.0.0/8,gateway"}, "'gateway' is no address range"),
        ({"max_rejects": -0.1}, "--max-rejects -0.1 is no share"),
        ({"max_rejects": float("nan")}, "--max-rejects nan is no share"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, what):
    assert refused(**settings) == what


def test_a_folder_is_no_duckdb_file(tmp_path: Path):
    assert refused(db=str(tmp_path)) == f"{tmp_path} is a folder"


def test_the_duckdb_file_lies_in_the_folder_of_the_report_if_nothing_else_is_said():
    assert PLAIN.published() == Path("out/tracemortem.duckdb")


def test_the_duckdb_file_is_where_it_is_told_to_be():
    assert Settings(inputs=("x",), out="out", db="all.duckdb").published() == Path("all.duckdb")


def test_without_a_folder_the_duckdb_file_must_be_named():
    with pytest.raises(SettingError, match="nothing says where the DuckDB file goes"):
        Settings(inputs=("x",)).published()


@pytest.mark.parametrize(
    ("text", "zone_name", "expected"),
    [
        ("2026-04-24T02:17:00Z", "Asia/Shanghai", datetime(2026, 4, 24, 2, 17, tzinfo=UTC)),
        ("2026-04-24T10:17:00+08:00", "UTC", datetime(2026, 4, 24, 2, 17, tzinfo=UTC)),
        ("2026-04-24T10:17", "Asia/Shanghai", datetime(2026, 4, 24, 2, 17, tzinfo=UTC)),
        ("2026-04-24", "UTC", datetime(2026, 4, 24, tzinfo=UTC)),
        ("2026-07-01 12:00", "Europe/Berlin", datetime(2026, 7, 1, 10, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_zone_is_local_in_that_of_the_run(text, zone_name, expected):
    assert instant(text, zone_name, "--from") == expected


def test_a_window_is_two_instants():
    assert span("2026-04-24T10:17/2026-04-24T02:51Z", "Asia/Shanghai") == (
        datetime(2026, 4, 24, 2, 17, tzinfo=UTC),
        datetime(2026, 4, 24, 2, 51, tzinfo=UTC),
    )


def test_networks_stand_in_canonical_form():
    assert networks(" 10.1.2.3/8, 2001:DB8::1/32,,192.0.2.7 ") == [
        "10.0.0.0/8",
        "2001:db8::/32",
        "192.0.2.7/32",
    ]


def test_no_networks_are_none():
    assert networks("") == []


def test_a_zone_has_its_name():
    assert zone("Europe/Berlin").key == "Europe/Berlin"

"""--start and --every place samples that carry no time, all the way into the tables."""

import json
from pathlib import Path

import pytest

from tracemortem import cli
from tracemortem.errors import SettingError
from tracemortem.pipeline import Settings

PAGE = 'DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-1",Hostname="n1"} 1980\n# EOF\n'


def test_scrapes_stand_in_the_tables_at_the_times_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "metrics").write_text(PAGE * 3)
    database = str(tmp_path / "x.duckdb")
    told = ["--start", "2026-02-03T12:00:00", "--every", "15", "--tz", "Europe/Berlin"]
    assert cli.main(["ingest", str(tmp_path / "metrics"), "--db", database, "--quiet", *told]) == 0
    query = "select epoch(sampled_at)::bigint as second, sm_clock_mhz from norm.gpu_sample order by second"
    assert cli.main(["sql", database, query]) == 0
    noon = 1770116400
    rows = [f"{noon + 15 * scrape},1980.0" for scrape in range(3)]
    assert capsys.readouterr().out.splitlines() == ["second,sm_clock_mhz", *rows]


def test_inspect_says_where_the_times_come_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "dcgm-20260203T110000Z.prom").write_text(PAGE)
    assert cli.main(["inspect", str(tmp_path)]) == 0
    assert "  times   from the time in the file's name\n" in capsys.readouterr().out


def test_the_quality_page_says_which_times_were_counted_from_elsewhere(tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "metrics").write_text(PAGE * 3)
    told = ["--every", "15", "--out", str(tmp_path / "out"), "--quiet"]
    assert cli.main(["postmortem", str(tmp_path / "in"), *told]) == 0
    quality = json.loads((tmp_path / "out" / "report.json").read_text())["quality"]
    (found,) = [one for one in quality if one["check"] == "times_from_elsewhere"]
    assert found["status"] == "warn"
    assert "path metrics, clock the time of the file's last change" in found["text"]
    assert "or back from its last change, taken for the time of the last of them" in found["limits"]


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        (Settings(inputs=("x",), start="noon"), "'noon' is no time"),
        (Settings(inputs=("x",), every_s=0), "--every 0 is no distance between samples"),
        (Settings(inputs=("x",), every_s=float("nan")), "--every nan is no distance between samples"),
    ],
)
def test_a_time_told_that_makes_no_sense_is_refused(settings: Settings, what: str):
    with pytest.raises(SettingError) as caught:
        settings.checked()
    assert caught.value.what == what

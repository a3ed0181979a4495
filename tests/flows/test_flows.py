"""The flows run the one composition as tasks, with retries, artifacts and logs."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SPAN = (
    '{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"edge"}}]},'
    '"scopeSpans":[{"spans":[{"traceId":"%032x","spanId":"%016x","name":"POST","kind":2,'
    '"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":'
    '[{"key":"http.response.status_code","value":{"intValue":"200"}}],"status":{}}]}]}]}\n'
)
START = 1_776_994_500_000_000_000

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # Prefect's own warnings are not ours to mend
]


@pytest.fixture(scope="module")
def harness() -> Iterator[None]:
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=180):
        yield


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "spans.jsonl"
    path.write_text(
        "".join(SPAN % (n + 1, n + 1, START + n * 10**9, START + n * 10**9 + 5 * 10**8) for n in range(300))
    )
    return path


def artifacts() -> dict[str, str]:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        found = client.request("POST", "/artifacts/filter", json={"sort": "CREATED_DESC"}).json()
    return {artifact["key"]: artifact["data"] for artifact in reversed(found) if artifact["key"]}


def runs_of_tasks(name: str) -> list[int]:
    """How often each task of that name was run, the latest first."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        found = client.request("POST", "/task_runs/filter", json={}).json()
    latest = sorted(found, key=lambda run: run["created"], reverse=True)
    return [run["run_count"] for run in latest if run["name"].startswith(name)]


def task_runs() -> set[str]:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        found = client.request("POST", "/task_runs/filter", json={}).json()
    return {run["name"].rsplit("-", 1)[0] for run in found}


@pytest.mark.usefixtures("harness")
def test_the_postmortem_flow_writes_the_report_and_links_to_it(recording: Path, tmp_path: Path):
    from tracemortem.flows import jobs
    from tracemortem.settings import Settings

    outcome = jobs.postmortem(Settings(inputs=(str(recording),), out=str(tmp_path / "out")))
    assert outcome.report == str(tmp_path / "out" / "report.html")
    assert json.loads((tmp_path / "out" / "report.json").read_text())["incidents"] == []
    kept = artifacts()
    assert str(tmp_path / "out" / "report.html") in kept["postmortem-report"]
    assert "No incident is confirmed." in kept["run-summary"]
    assert {"load", "model", "detect", "explain", "render", "publish"} <= task_runs()


@pytest.mark.usefixtures("harness")
def test_the_ingest_flow_loads_the_same_rows_as_the_command(recording: Path, tmp_path: Path):
    from tracemortem import pipeline
    from tracemortem.flows import jobs
    from tracemortem.settings import Settings

    by_flow = jobs.ingest(Settings(inputs=(str(recording),), db=str(tmp_path / "flow.duckdb")))
    plainly = pipeline.ingest(Settings(inputs=(str(recording),), db=str(tmp_path / "plain.duckdb")))
    assert (by_flow.requests, plainly.requests) == (300, 300)


@pytest.mark.usefixtures("harness")
def test_what_a_person_must_mend_is_not_tried_again(tmp_path: Path):
    from tracemortem.errors import InputError
    from tracemortem.flows import jobs
    from tracemortem.settings import Settings

    with pytest.raises(InputError):
        jobs.ingest(Settings(inputs=(str(tmp_path / "nowhere"),), db=str(tmp_path / "x.duckdb")))
    assert runs_of_tasks("load")[0] == 1


@pytest.mark.usefixtures("harness")
def test_what_passes_by_itself_is_tried_again(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from tracemortem import pipeline
    from tracemortem.flows import jobs
    from tracemortem.settings import Settings

    tries = []

    def load(settings: Settings) -> float:
        tries.append(settings)
        if len(tries) == 1:
            raise OSError("the disk was busy")
        return real(settings)

    real = pipeline.load
    monkeypatch.setattr(pipeline, "load", load)
    monkeypatch.setattr(jobs, "RETRY_AFTER_S", [0, 0])
    outcome = jobs.ingest(Settings(inputs=(str(recording),), db=str(tmp_path / "x.duckdb")))
    assert (outcome.requests, len(tries)) == (300, 2)


@pytest.mark.usefixtures("harness")
def test_settings_that_make_no_sense_fail_before_any_task(recording: Path, tmp_path: Path):
    from tracemortem.errors import SettingError
    from tracemortem.flows import jobs
    from tracemortem.settings import Settings

    before = len(runs_of_tasks(""))
    with pytest.raises(SettingError, match="no time zone"):
        jobs.ingest(Settings(inputs=(str(recording),), db=str(tmp_path / "x.duckdb"), timezone="Mars"))
    assert len(runs_of_tasks("")) == before


@pytest.mark.usefixtures("harness")
def test_the_what_if_flow_asks_once_and_keeps_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from tracemortem import pipeline
    from tracemortem.flows import jobs
    from tracemortem.settings import Settings

    def asked_for(settings: Settings, incident: str, own: tuple[str, ...], *, as_json: bool) -> str:
        return f"{settings.db} {incident} {own} {as_json}"

    monkeypatch.setattr(pipeline, "asked_for", asked_for)
    found = jobs.what_if(Settings((), db="x.duckdb"), "20231115T0217Z-counsel", ("mine.yaml",))
    assert found == "x.duckdb 20231115T0217Z-counsel ('mine.yaml',) False"
    assert artifacts()["what-if"] == f"```\n{found}\n```"
    assert runs_of_tasks("asked_for") == [1]


@pytest.mark.usefixtures("harness")
def test_the_what_if_flow_names_the_incidents_of_a_published_file(recording: Path, tmp_path: Path):
    from tracemortem import pipeline
    from tracemortem.errors import SettingError
    from tracemortem.flows import jobs
    from tracemortem.settings import Settings

    pipeline.postmortem(Settings((str(recording),), out=str(tmp_path / "out")))
    with pytest.raises(SettingError, match="no incident is called 'x'"):
        jobs.what_if(Settings((), db=str(tmp_path / "out" / "tracemortem.duckdb")), "x")


def test_the_plain_command_never_imports_prefect(recording: Path, tmp_path: Path):
    import subprocess

    code = (
        "import sys; from tracemortem import cli; "
        f"given = ['ingest', {str(recording)!r}, '--db', {str(tmp_path / 'x.duckdb')!r}, '--quiet']; "
        "code = cli.main(given); "
        "sys.exit(code or 10 * ('prefect' in sys.modules))"
    )
    path = os.pathsep.join(str(Path(__file__).parents[2] / part) for part in ("pipelines",))
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    done = subprocess.run([sys.executable, "-c", code], env={**environment, "PYTHONPATH": path}, check=False)
    assert done.returncode == 0

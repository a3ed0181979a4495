"""prefect.yaml deploys the flows that there are, with parameters that they take."""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # Prefect's own warnings are not ours to mend
]


@pytest.fixture(scope="module")
def project(repo_root: Path) -> Mapping[str, Any]:
    return yaml.safe_load((repo_root / "prefect.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def deployments(project: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    return {entry["name"]: entry for entry in project["deployments"]}


def test_every_flow_has_a_deployment_of_its_name(deployments: Mapping[str, Mapping[str, Any]]):
    from prefect import Flow

    from tracemortem.flows import jobs

    flows = {value.name for value in vars(jobs).values() if isinstance(value, Flow)}
    assert set(deployments) == flows


@pytest.mark.parametrize("name", ["postmortem", "ingest", "daily", "what-if"])
def test_a_deployment_finds_its_flow_and_settings_that_make_sense(
    name: str,
    deployments: Mapping[str, Mapping[str, Any]],
    repo_root: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    from prefect.flows import load_flow_from_entrypoint

    monkeypatch.chdir(repo_root)
    flow = load_flow_from_entrypoint(deployments[name]["entrypoint"])
    settings = flow.validate_parameters(deployments[name]["parameters"])["settings"]
    assert flow.name == name
    assert settings.checked() == settings
    assert all(Path(path).exists() for path in settings.inputs)
    assert settings.inputs or "incident" in deployments[name]["parameters"]


def test_runs_of_one_deployment_wait_for_each_other(deployments: Mapping[str, Mapping[str, Any]]):
    limits = [entry["concurrency_limit"] for entry in deployments.values()]
    assert limits == [{"limit": 1, "collision_strategy": "ENQUEUE"}] * len(limits)


def test_the_file_is_for_the_prefect_that_is_installed(project: Mapping[str, Any]):
    assert project["prefect-version"] == version("prefect")

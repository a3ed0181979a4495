"""The postmortem of the sample incident, made once for all tests that only read it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracemortem import pipeline
from tracemortem.settings import Settings


@pytest.fixture(scope="session")
def night(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder that it wrote, and the one confirmed incident of its report.json."""
    out = tmp_path_factory.mktemp("night")
    pipeline.postmortem(Settings((str(repo_root / "data_samples" / "seed_night"),), out=str(out)))
    incidents = json.loads((out / "report.json").read_text(encoding="utf-8"))["incidents"]
    [incident] = [incident for incident in incidents if incident["status"] == "confirmed"]
    return out, incident

"""What every test may ask for: where the checkout is, and the shared recordings where somebody has them."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Before any test imports Prefect: nothing phones home, and its database stays inside the checkout. Each
# process of a spread run has a database of its own, since SQLite lets one write at a time.
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("PREFECT_HOME", str(ROOT / ".prefect"))
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["PREFECT_HOME"] = str(Path(os.environ["PREFECT_HOME"]) / os.environ["PYTEST_XDIST_WORKER"])
    Path(os.environ["PREFECT_HOME"]).mkdir(parents=True, exist_ok=True)


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The checkout's top folder."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recordings beside the checkout; tests that need it are skipped where it is absent."""
    folder = ROOT.parent / "shared"
    if not (folder / "incidents").is_dir():
        pytest.skip("the shared recordings are not here")
    return folder

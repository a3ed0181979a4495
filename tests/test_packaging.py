"""The wheel, built from the sdist, installed bare, and used outside a checkout."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    """Stdout of a command that knows nothing of the checkout; a failure shows what it said."""
    outside = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "PYTHONHOME"}}
    done = subprocess.run(command, cwd=cwd, env=outside, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(repo_root, tmp_path_factory):
    """The wheel, made from the sdist as a package index would get both."""
    dist = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, repo_root, cwd=dist)
    assert [file.suffix for file in sorted(dist.iterdir())] == [".whl", ".gz"]
    return next(dist.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The bin folder of a fresh environment: the wheel, and the locked packages it asks for, nothing else."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home / "env", with_pip=False)
    python = home / "env" / "bin" / "python"
    run(
        sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=home
    )
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).strip()
    (Path(site) / "locked.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python.parent


def travelling(folder: Path) -> set[str]:
    """The files below a folder that belong into the wheel, by their path from the folder's parent."""
    return {
        file.relative_to(folder.parent).as_posix()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def test_the_wheel_holds_the_package_with_its_sql_and_templates_and_nothing_else(wheel, repo_root):
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = travelling(repo_root / "pipelines" / "tracemortem")
    expected |= {f"tracemortem/{name}" for name in travelling(repo_root / "sql")}
    expected |= {f"tracemortem/{name}" for name in travelling(repo_root / "reports")}
    assert inside == expected


def test_the_wheel_carries_its_licence(wheel, repo_root):
    with zipfile.ZipFile(wheel) as archive:
        text = next(
            archive.read(name) for name in archive.namelist() if name.endswith(".dist-info/licenses/LICENSE")
        )
    assert text == (repo_root / "LICENSE").read_bytes()


def test_what_runs_is_the_installed_package_and_not_the_checkout(installed, tmp_path):
    where = run(installed / "python", "-c", "import tracemortem; print(tracemortem.__file__)", cwd=tmp_path)
    assert Path(where).is_relative_to(installed.parent)


def test_the_installed_command_says_its_version(installed, tmp_path):
    version = run(
        installed / "python", "-c", "import tracemortem; print(tracemortem.__version__)", cwd=tmp_path
    )
    assert run(installed / "tracemortem", "--version", cwd=tmp_path) == f"tracemortem {version}"


def test_the_installed_command_lists_its_formats(installed, tmp_path):
    assert "nginx" in run(installed / "tracemortem", "formats", cwd=tmp_path)


def test_the_installed_command_writes_a_postmortem_of_the_sample(installed, repo_root, tmp_path):
    sample = repo_root / "data_samples" / "seed_night"
    run(installed / "tracemortem", "postmortem", sample, "--out", "night", "--quiet", cwd=tmp_path)
    assert sorted(file.name for file in (tmp_path / "night").iterdir()) == [
        "report.html",
        "report.json",
        "report.md",
        "tracemortem.duckdb",
    ]

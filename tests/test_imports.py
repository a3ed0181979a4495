"""Who may import whom. Read from the syntax tree, so that an import inside a function counts as well."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

WORDS = frozenset({"errors", "folders", "incident", "findings", "declared"})
ROOMS = frozenset({"sources", "warehouse", "detect", "explain", "replay", "report"})
ABOVE = frozenset({"pipeline", "flows", "cli"})
HOME_OF = {"prefect": "flows", "duckdb": "warehouse", "jinja2": "report"}


def imports(file: Path, package: Path) -> Iterator[tuple[str, bool]]:
    """Every module that a file imports, dotted and absolute, and whether that happens when it is loaded."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    late = {
        id(inner)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(outer)
    }
    here = ["tracemortem", *file.relative_to(package).parent.parts]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) not in late
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{origin}.{alias.name}", id(node) not in late


def broken_rules(package: Path) -> list[str]:
    """Each import under `package` that a rule forbids, as `file imports module: rule`."""
    found = []
    for file in sorted(package.rglob("*.py")):
        path = file.relative_to(package).as_posix()
        part = path.split("/", maxsplit=1)[0].removesuffix(".py")
        for name, is_at_load in imports(file, package):
            top, inner = name.split(".", maxsplit=1)[0], (*name.split("."), "")[1]
            ours = inner if top == "tracemortem" else None
            if top in HOME_OF and part != HOME_OF[top]:
                found.append(f"{path} imports {name}: {top} only in {HOME_OF[top]}/")
            if part in ROOMS and ours is not None and ours not in WORDS | {part}:
                found.append(f"{path} imports {name}: rooms do not know each other")
            if part in WORDS | {"settings", "progress"} and ours is not None and ours not in WORDS:
                found.append(f"{path} imports {name}: the shared words know no room")
            if part == "steps" and ours in ABOVE:
                found.append(f"{path} imports {name}: a step knows rooms, and not who runs it")
            if part == "pipeline" and ours in {"flows", "cli"}:
                found.append(
                    f"{path} imports {name}: the composition knows neither Prefect nor the command line"
                )
            if part == "flows" and ours is not None and ours not in WORDS | {"pipeline", "flows"}:
                found.append(f"{path} imports {name}: flows know only the composition")
            if part == "cli" and ours in ROOMS:
                found.append(f"{path} imports {name}: the command line knows only the composition")
            if part == "cli" and ours == "flows" and is_at_load:
                found.append(f"{path} imports {name}: only inside the function that runs a flow")
            if path.endswith("__init__.py") and "/" in path and part in ROOMS:
                found.append(f"{path} imports {name}: a room's __init__ imports nothing")
    return found


def test_the_package_breaks_no_import_rule(repo_root):
    assert broken_rules(repo_root / "pipelines" / "tracemortem") == []


@pytest.mark.parametrize(
    ("path", "line", "rule"),
    [
        ("detect/a.py", "import prefect", "prefect only in flows/"),
        ("pipeline.py", "from prefect import task", "prefect only in flows/"),
        ("explain/a.py", "import duckdb", "duckdb only in warehouse/"),
        ("cli.py", "def sql():\n    import duckdb", "duckdb only in warehouse/"),
        ("warehouse/a.py", "from jinja2 import Environment", "jinja2 only in report/"),
        ("sources/a.py", "from tracemortem.warehouse import store", "rooms do not know each other"),
        ("explain/a.py", "from tracemortem import detect", "rooms do not know each other"),
        ("report/a.py", "from ..detect.spikes import spikes", "rooms do not know each other"),
        ("report/a.py", "import tracemortem.pipeline", "rooms do not know each other"),
        ("detect/a.py", "def f():\n    from tracemortem.flows import x", "rooms do not know each other"),
        ("errors.py", "from tracemortem.sources import batch", "the shared words know no room"),
        ("progress.py", "from tracemortem.warehouse import store", "the shared words know no room"),
        (
            "steps/load.py",
            "from tracemortem.pipeline import plain",
            "a step knows rooms, and not who runs it",
        ),
        ("pipeline.py", "from tracemortem.flows import x", "neither Prefect nor the command line"),
        ("flows/a.py", "from tracemortem.warehouse import store", "flows know only the composition"),
        (
            "cli.py",
            "from tracemortem.sources.otlp import read",
            "the command line knows only the composition",
        ),
        ("cli.py", "from tracemortem.flows import postmortem", "only inside the function that runs a flow"),
        (
            "detect/__init__.py",
            "from tracemortem.errors import InputError",
            "a room's __init__ imports nothing",
        ),
    ],
)
def test_a_forbidden_import_is_found(tmp_path, path, line, rule):
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(line, encoding="utf-8")
    found = broken_rules(tmp_path)
    assert [rule in text for text in found] == [True]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("flows/a.py", "from prefect import flow\nfrom tracemortem import pipeline"),
        (
            "warehouse/a.py",
            "import duckdb\nfrom tracemortem.errors import WarehouseError\nfrom . import model",
        ),
        ("report/a.py", "import jinja2\nfrom tracemortem.report.charts import line"),
        (
            "cli.py",
            "from tracemortem import pipeline\ndef f():\n    from tracemortem.flows import postmortem",
        ),
        ("pipeline.py", "from tracemortem.settings import Settings\nfrom tracemortem.steps.load import load"),
        ("steps/load.py", "from tracemortem.sources import find\nfrom tracemortem.warehouse import store"),
    ],
)
def test_an_allowed_import_is_left_alone(tmp_path, path, line):
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(line, encoding="utf-8")
    assert broken_rules(tmp_path) == []


@pytest.fixture
def declared(repo_root):
    """The names of the distributions that the project depends on."""
    project = tomllib.loads((repo_root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {re.split(r"[<>=\[]", text, maxsplit=1)[0] for text in project["dependencies"]}


def test_the_declared_dependencies_are_the_packages_that_are_imported(repo_root, declared):
    package = repo_root / "pipelines" / "tracemortem"
    # not imported by the name they are installed by; OTLP's messages are protobuf's, and bring it along
    named = {
        "google": "protobuf",
        "markdown_it": "markdown-it-py",
        "opentelemetry": "opentelemetry-proto",
        "yaml": "pyyaml",
    }
    imported = {
        name.split(".", maxsplit=1)[0] for file in package.rglob("*.py") for name, _ in imports(file, package)
    } - {"tracemortem", "_typeshed", *sys.stdlib_module_names}
    assert {named.get(name, name) for name in imported} == declared


def test_every_dependency_is_justified(repo_root, declared):
    text = (repo_root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.split("\n## Dependencies\n")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| ([a-z0-9-]+) \|", section, re.MULTILINE)) - {"package"} == declared


def loaded_by(repo_root, statement, tops):
    """Which of the modules named are loaded when a new process has run the statement."""
    asked = f"import sys; {statement}; print(*sorted({tops!r} & sys.modules.keys()))"
    answer = subprocess.run(
        [sys.executable, "-c", asked],
        env={**os.environ, "PYTHONPATH": str(repo_root / "pipelines")},
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout.split()


def test_the_command_line_starts_without_loading_prefect(repo_root):
    assert loaded_by(repo_root, "import tracemortem.cli", {"prefect"}) == []


def test_loading_waits_for_no_package_that_only_some_kinds_of_file_need(repo_root):
    dear = {"numba", "pydantic", "pyarrow.compute", "google.protobuf", "rich", "plotly", "scipy"}
    assert loaded_by(repo_root, "import tracemortem.steps.load", dear) == []

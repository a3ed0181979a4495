"""The documents say what is so: commands, options, targets, links; and nothing private stands in any file."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import tracemortem

REGISTRY = re.compile(
    r"//[a-z0-9.-]*(pypi|pythonhosted|npmjs|debian)[a-z0-9.-]*/"
    r"|\b(pypi|npmjs|pythonhosted|deb\.debian)\.(org|com)\b",
    re.IGNORECASE,
)
MACHINE_PATH = re.compile(r"(^|[^a-zA-Z0-9_.])/(work|farm|tmp|root)/[a-z]", re.MULTILINE)
ISSUE_NUMBER = re.compile(r"\bissues?\s+#?\d|\bGH-\d", re.IGNORECASE)
ISSUE_MARK = re.compile(r"(?<![\w&;/#])#\d+\b")  # in prose only: elsewhere it is a colour


def ask(root: Path, *arguments: str) -> str:
    """What the command line prints, run from the checkout."""
    answer = subprocess.run(
        [sys.executable, "-c", "import sys; from tracemortem.cli import main; sys.exit(main())", *arguments],
        env={**os.environ, "PYTHONPATH": str(root / "pipelines"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.fixture(scope="module")
def helps(repo_root):
    """Help text by command."""
    listed = re.findall(r"^    ([a-z][a-z-]+)(?:  +\S|$)", ask(repo_root, "--help"), re.MULTILINE)
    assert "postmortem" in listed
    return {name: ask(repo_root, name, "--help") for name in listed}


@pytest.fixture(scope="module")
def readme(repo_root):
    return (repo_root / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def documents(repo_root):
    """Every Markdown file git has or would take, by path."""
    return {path: text for path, text in tracked(repo_root).items() if path.suffix == ".md"}


def tracked(root: Path) -> dict[Path, str]:
    """Every text file that git has or would take, by absolute path."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    texts = {}
    for name in filter(None, listed.stdout.split("\0")):
        content = (root / name).read_bytes() if (root / name).is_file() else b"\0"
        if b"\0" not in content:
            texts[root / name] = content.decode("utf-8", errors="replace")
    return texts


def options(text: str) -> set[str]:
    """The long options that stand in a text."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


def typed_options(readme: str) -> set[str]:
    """The options of tracemortem in the README: in its tables, and on lines that run the command."""
    table = re.findall(r"^\| `--.*$", readme, re.MULTILINE)
    lines = re.findall(r"^(?:\$ )?tracemortem .*$", readme, re.MULTILINE)
    return options("\n".join(table + lines))


def matches(root: Path, pattern: re.Pattern[str], suffixes: tuple[str, ...] = ("",)) -> list[str]:
    """Where a pattern stands in the tracked files, as `path: text`."""
    return [
        f"{path.relative_to(root)}: {found[0]}"
        for path, text in tracked(root).items()
        if path.name.endswith(suffixes)
        for found in pattern.finditer(text)
    ]


def test_every_command_stands_in_the_readme(helps, readme):
    assert {name for name in helps if f"`tracemortem {name}" not in readme} == set()


def test_every_option_stands_in_the_readme(helps, readme):
    asked = {name for text in helps.values() for name in options(text)}
    assert asked - options(readme) - {"--help"} == set()


def test_every_option_in_the_readme_is_one_of_some_command(helps, readme, repo_root):
    known = {name for text in [ask(repo_root, "--help"), *helps.values()] for name in options(text)}
    assert typed_options(readme) - known == set()


def test_every_command_that_the_readme_types_exists(helps, readme):
    typed = set(re.findall(r"^(?:\$ )?tracemortem ([a-z-]+)", readme, re.MULTILINE))
    assert {name for name in typed if not name.startswith("-")} - set(helps) == set()


@pytest.mark.slow
def test_every_query_in_the_readme_runs_on_a_file_that_a_run_wrote(repo_root, readme, tmp_path):
    ask(repo_root, "postmortem", str(repo_root / "data_samples" / "seed_night"), "--out", str(tmp_path))
    typed = [shlex.split(line) for line in re.findall(r"^tracemortem (sql .*)$", readme, re.MULTILINE)]
    queries = [words[2] for words in typed] + re.findall(
        r"^```sql\n(.*?);?\n```$", readme, re.MULTILINE | re.DOTALL
    )
    answers = [ask(repo_root, "sql", str(tmp_path / "tracemortem.duckdb"), query) for query in queries]
    assert len(answers) >= 2
    assert [query for query, rows in zip(queries, answers, strict=True) if len(rows.splitlines()) < 2] == []


def test_the_version_is_the_packages(repo_root):
    assert ask(repo_root, "--version") == f"tracemortem {tracemortem.__version__}\n"


def test_the_changelog_has_a_section_for_the_version(repo_root):
    changelog = (repo_root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {tracemortem.__version__}" in changelog


def test_every_make_target_in_the_documents_exists(documents, repo_root):
    makefile = (repo_root / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    named = {
        name
        for text in documents.values()
        for run in re.findall(r"(?:^|`)make((?: [a-z]+)+)", text, re.MULTILINE)
        for name in run.split()
    }
    assert {"demo", "test"} <= named
    assert named - targets == set()


def headings(text: str) -> set[str]:
    """The anchors of a document: its headings as Markdown viewers name them."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def is_broken(document: Path, target: str) -> bool:
    """Whether a relative link leads to no file, or to no heading of a Markdown file."""
    path, _, anchor = target.partition("#")
    file = document.parent / path if path else document
    if not file.exists():
        return True
    return bool(anchor) and anchor not in headings(file.read_text(encoding="utf-8"))


def test_every_relative_link_leads_to_a_file_and_its_heading(documents, repo_root):
    broken = [
        f"{path.relative_to(repo_root)}: {target}"
        for path, text in documents.items()
        for target in re.findall(r"\]\(([^)\s]+)\)", text)
        if "://" not in target and is_broken(path, target)
    ]
    assert broken == []


@pytest.mark.parametrize("target", ["absent.md", "a.md#other", "#other"])
def test_a_link_that_leads_nowhere_is_found(tmp_path, target):
    document = tmp_path / "a.md"
    document.write_text("# One heading\n", encoding="utf-8")
    assert (is_broken(document, target), is_broken(document, "a.md#one-heading")) == (True, False)


def test_no_package_registry_is_named(repo_root):
    assert matches(repo_root, REGISTRY) == []


def test_no_path_of_a_machine_stands_anywhere(repo_root):
    assert matches(repo_root, MACHINE_PATH) == []


def test_no_issue_number_stands_anywhere(repo_root):
    assert matches(repo_root, ISSUE_NUMBER) + matches(repo_root, ISSUE_MARK, (".md",)) == []


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        (REGISTRY, ("--hash from https:/", "/files.python", "hosted.org/packages/x.whl")),
        (REGISTRY, ("see py", "pi.org for more")),
        (MACHINE_PATH, ("cd /", "work/main")),
        (MACHINE_PATH, ("open('/", "tmp/out')")),
        (ISSUE_NUMBER, ("as iss", "ue 12 says")),
        (ISSUE_MARK, ("mended (", "#12)")),
    ],
)
def test_what_must_not_stand_anywhere_is_recognised(pattern, parts):
    assert pattern.search("".join(parts)) is not None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (REGISTRY, "a Debian package, or one from an index of Python packages"),
        (MACHINE_PATH, "sql/work/a.sql and data_samples/tmp/x, or /workspace"),
        (ISSUE_NUMBER, "an issue with 12 replicas"),
        (ISSUE_MARK, "the section [limits](README.md#2-limits)"),
    ],
)
def test_what_only_looks_like_it_is_left_alone(pattern, text):
    assert pattern.search(text) is None

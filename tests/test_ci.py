"""What .ci/run lets through: it is run on a made-up Makefile whose tests close as each case says."""

import os
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")


@pytest.fixture
def judged(repo_root, tmp_path):
    """A function: how .ci/run ends when `make test` prints a line and exits with a code."""

    def judge(line: str, code: int = 0) -> tuple[int, str]:
        (tmp_path / ".ci").mkdir()
        shutil.copy(repo_root / ".ci" / "run", tmp_path / ".ci" / "run")
        makefile = f"setup:\n\t@true\ntest:\n\t@echo '{line}'\n\t@exit {code}\n"
        (tmp_path / "Makefile").write_text(makefile, encoding="utf-8")
        tools = tmp_path / "bin"
        tools.mkdir()
        true = shutil.which("true")
        assert true is not None
        for tool in (
            "chromium",
            "git",
            "haproxy",
            "nginx",
            "prometheus",
            "promtool",
            "python3",
        ):  # so that none is installed for the sake of this test
            (tools / tool).symlink_to(true)
        ended = subprocess.run(
            ["bash", ".ci/run"],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "CI": "true"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout + ended.stderr

    return judge


@pytest.mark.parametrize(
    "line",
    [
        "===== 41 passed in 12.34s =====",
        "===== 1041 passed, 3 deselected, 1 xfailed in 754.10s (0:12:34) =====",
    ],
)
def test_a_run_in_which_every_test_passed_is_let_through(judged, line):
    code, said = judged(line)
    assert (code, line in said) == (0, True)


@pytest.mark.parametrize(
    ("line", "test_code", "reason"),
    [
        ("===== 40 passed, 1 skipped in 12.34s =====", 0, "tests were skipped"),
        ("===== 1 skipped in 0.10s =====", 0, "no test passed"),
        ("===== no tests ran in 0.01s =====", 0, "printed no closing line"),
        ("Success: no issues found in 12 source files", 0, "printed no closing line"),
        ("===== 1 failed, 40 passed in 12.34s =====", 1, "make test failed"),
    ],
)
def test_any_other_run_fails_and_says_why(judged, line, test_code, reason):
    code, said = judged(line, test_code)
    assert (code, reason in said) == (1, True)


def test_it_can_be_executed(repo_root):
    assert os.access(repo_root / ".ci" / "run", os.X_OK)

"""Methods that are compared find the same in a small input; one whose peer is missing says so."""

import json
import re
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import json_log
import nginx_log
import otlp_json
import prometheus_text
import pytest
from measure import UNAVAILABLE
from methods import Method

ROWS = 3000
BROKEN = 9


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Mapping[str, tuple[Path, list[int]]]:
    """The inputs, and which of their lines are malformed."""
    folder = tmp_path_factory.mktemp("inputs")
    return {
        "nginx": nginx_log.written(folder, ROWS),
        "json": json_log.written(folder, ROWS),
        "otlp_json": (otlp_json.written(folder, ROWS), []),
        "dcgm": (prometheus_text.written(folder, ROWS), []),
    }


@pytest.fixture
def said(capsys, monkeypatch, tmp_path):
    """A function: what a method says of a file, also where its peer is missing."""

    for bench in (nginx_log, json_log):
        monkeypatch.setattr(bench, "BATCH", ROWS // 3)

    def say(method: Method, file: Path) -> str:
        try:
            return method(file, tmp_path)
        except SystemExit as ended:
            return str(capsys.readouterr().out) if ended.code == UNAVAILABLE else f"exit code {ended.code}"

    return say


@pytest.mark.parametrize("name", nginx_log.METHODS)
def test_every_method_finds_the_same_in_an_nginx_log(name, made, said):
    file, broken = made["nginx"]
    statuses = [int(line.split('" ')[1].split()[0]) for line in _whole(file, broken)]
    found = _found(name, len(statuses), sum(statuses), broken)
    if name == "GoAccess":  # takes a line that was cut off behind its status for a whole one
        found = "2993 requests in a report, 7 failed"
    assert said(nginx_log.METHODS[name], file) == _or_missing(name, found)


@pytest.mark.parametrize("name", json_log.METHODS)
def test_every_method_finds_the_same_in_a_json_log_but_chdb(name, made, said):
    file, broken = made["json"]
    statuses = [json.loads(line)["status"] for line in _whole(file, broken)]
    found = _found(name, len(statuses), sum(statuses), broken)
    if name == "chDB JSONEachRow":  # loses the good line behind one that was cut off
        found = "2986 rows, sum 949290"
    assert said(json_log.METHODS[name], file) == _or_missing(name, found)


@pytest.mark.parametrize("name", prometheus_text.METHODS)
def test_every_method_finds_the_same_samples(name, made, said):
    file, _ = made["dcgm"]
    values = [float(line.split()[-2]) for line in file.read_text().splitlines() if not line.startswith("#")]
    found = f"{len(values)} rows, sum {round(sum(values))}.0"
    if name == "promtool":
        found = f"{len(values)} samples in blocks"
    elif name == "tracemortem ingest":
        found = f"{len(values)} rows"
    assert said(prometheus_text.METHODS[name], file) == _or_missing(name, found)


@pytest.mark.parametrize("name", otlp_json.METHODS)
def test_every_method_finds_the_same_spans(name, made, said):
    file, _ = made["otlp_json"]
    tokens = [
        int(found) for found in re.findall(r'input_tokens","value":{"intValue":"(\d+)"', file.read_text())
    ]
    found = "30 lines" if name == "orjson.loads" else f"{len(tokens)} rows, sum {sum(tokens)}"
    assert said(otlp_json.METHODS[name], file) == _or_missing(name, found)


def _whole(file: Path, broken: list[int]) -> list[str]:
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
    return [line for number, line in lines if number not in broken]


def _found(name: str, count: int, total: int, broken: list[int]) -> str:
    found = f"{count} rows, sum {total}"
    if name.split(maxsplit=1)[0] in {"tracemortem", "Python"}:
        found += f", malformed {' '.join(map(str, broken))}"
    return found


def _or_missing(name: str, found: str) -> str:
    """What a method finds, or that its peer is not installed here."""
    peer = name.split(maxsplit=1)[0].lower()
    is_here = {"goaccess": shutil.which, "promtool": shutil.which, "chdb": find_spec}
    return found if peer not in is_here or is_here[peer](peer) else f"{peer} is not installed"


def test_the_peers_are_locked_beside_the_product_and_agree_with_its_lock(repo_root):
    product, peers = (
        dict(re.findall(r"^([\w-]+)==(\S+)", (repo_root / name).read_text(encoding="utf-8"), re.MULTILINE))
        for name in ("requirements.lock", "requirements-bench.lock")
    )
    assert "chdb" in peers.keys() - product.keys()
    assert {name: peers[name] for name in product.keys() & peers.keys()} == {
        name: product[name] for name in product.keys() & peers.keys()
    }

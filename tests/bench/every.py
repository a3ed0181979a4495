"""Every benchmark, in one table.

python tests/bench/every.py [--runs N] [--scale SHARE] [--only NAME]... [POSTMORTEM_INPUT]...
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import day_of_requests
import engine_replay
import json_log
import nginx_log
import otlp_json
import otlp_protobuf
import postmortem_cost
import prometheus_text
from measure import RUNS, Cost, table

_PACKAGES = ("duckdb", "polars", "pyarrow", "numba", "chdb", "orjson", "protobuf", "prometheus_client")
_PROGRAMS = ("goaccess", "promtool")


def nginx(folder: Path, runs: int, scale: float) -> list[Cost]:
    """An nginx log."""
    file, _ = nginx_log.written(folder, int(nginx_log.LINES * scale))
    return _of(f"nginx log {_size(file)}", nginx_log.costs(file, runs))


def json(folder: Path, runs: int, scale: float) -> list[Cost]:
    """A JSON log."""
    file, _ = json_log.written(folder, int(json_log.LINES * scale))
    return _of(f"JSON log {_size(file)}", json_log.costs(file, runs))


def prometheus(folder: Path, runs: int, scale: float) -> list[Cost]:
    """Scrapes of dcgm-exporter."""
    file = prometheus_text.written(folder, int(prometheus_text.SAMPLES * scale))
    return _of(f"Prometheus text {_size(file)}", prometheus_text.costs(file, runs))


def otlp_lines(folder: Path, runs: int, scale: float) -> list[Cost]:
    """Traces of OTLP as JSON lines."""
    file = otlp_json.written(folder, int(otlp_json.SPANS * scale))
    return _of(f"OTLP JSON {_size(file)}", otlp_json.costs(file, runs))


def otlp_messages(folder: Path, runs: int, scale: float) -> list[Cost]:
    """Spans of OTLP protobuf."""
    file = otlp_protobuf.written(folder, int(otlp_protobuf.SPANS * scale))
    return _of(f"OTLP protobuf {_size(file)}", otlp_protobuf.costs(file, runs))


def day(folder: Path, runs: int, scale: float) -> list[Cost]:
    """A day of requests and metrics, ingested and diagnosed."""
    requests = int(day_of_requests.REQUESTS * scale)
    return _of(f"a day of {requests:,} requests", day_of_requests.costs(folder, requests, runs))


def replays(_: Path, runs: int, scale: float) -> list[Cost]:
    """Requests through the engine model."""
    return _of("replay", engine_replay.costs(int(engine_replay.REQUESTS * scale), runs))


BENCHES: Mapping[str, Callable[[Path, int, float], list[Cost]]] = {
    "nginx": nginx,
    "json": json,
    "prometheus": prometheus,
    "otlp_json": otlp_lines,
    "otlp_protobuf": otlp_messages,
    "day": day,
    "replay": replays,
}


def main(arguments: list[str]) -> None:
    """Print one table, and what it was measured with."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="size of the inputs, as a share of the full ones"
    )
    parser.add_argument("--only", choices=[*BENCHES, "postmortem"], action="append", default=[])
    parser.add_argument("inputs", nargs="*", type=Path, help="of the postmortems that are measured")
    given = parser.parse_args(arguments)
    costs: list[Cost] = []
    for name, bench in BENCHES.items():
        if not given.only or name in given.only:
            with tempfile.TemporaryDirectory() as folder:
                costs += bench(Path(folder), given.runs, given.scale)
    if not given.only or "postmortem" in given.only:
        with tempfile.TemporaryDirectory() as folder:
            costs += [postmortem_cost.cost(source, Path(folder) / "run") for source in given.inputs]
    sys.stdout.write(table(costs) + "\n" + "\n".join(_circumstances()) + "\n")


def _of(what: str, costs: list[Cost]) -> list[Cost]:
    return [replace(cost, name=f"{what}: {cost.name}") for cost in costs]


def _size(file: Path) -> str:
    return f"{file.stat().st_size / 1e6:.0f} MB"


def _circumstances() -> Iterator[str]:
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    yield f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores, {_processor()}, load {load}"
    yield f"Python {platform.python_version()}, " + ", ".join(
        f"{name} {_version(name)}" for name in (*_PACKAGES, *_PROGRAMS)
    )


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())


def _version(name: str) -> str:
    if name not in _PROGRAMS:
        try:
            return version(name)
        except PackageNotFoundError:
            return "not installed"
    if shutil.which(name) is None:
        return "not installed"
    said = subprocess.run([name, "--version"], check=True, capture_output=True, text=True).stdout
    return next(word.strip(".") for word in said.replace(",", " ").split() if word[0].isdigit())


if __name__ == "__main__":
    main(sys.argv[1:])

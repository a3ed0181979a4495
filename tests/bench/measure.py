"""What a command costs: wall time, CPU time and peak memory, each the median of some runs; and tables of it.

Every method that is compared is a process of its own, so each pays for its imports and none for another's
caches. Import nothing large here: a child's peak memory is at least that of the process that starts it.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

RUNS = 5
UNAVAILABLE = 69  # exit code (EX_UNAVAILABLE of sysexits.h) of a method whose peer is not installed
_GIB = 1 << 20  # ru_maxrss is in KiB


@dataclass(frozen=True)
class Cost:
    """What a method costs, the median of its runs.

    said   what it printed at its last run, such as sums by which methods are held against each other;
           of a method that could not run: why
    """

    name: str
    wall_s: float | None
    cpu_s: float | None
    peak_gib: float | None
    said: str


def unavailable(why: str) -> SystemExit:
    """What a method raises whose peer is missing: its row says so, and the others are measured."""
    sys.stdout.write(why)
    return SystemExit(UNAVAILABLE)


def measure(name: str, command: Sequence[str | Path], runs: int = RUNS) -> Cost:
    """Run a command some times, one after another.

    raises   CalledProcessError where it fails, unless its exit code is UNAVAILABLE
    """
    return in_turn({name: command}, runs)[0]


def in_turn(commands: Mapping[str, Sequence[str | Path]], runs: int = RUNS) -> list[Cost]:
    """Run commands some times, in rounds: what else the machine does meanwhile falls on all of them alike.

    raises   as measure does
    """
    taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    said: dict[str, str] = {}
    for number in range(1, runs + 1):
        for name, command in commands.items():
            if name in said and not taken[name]:
                continue  # it could not run
            *figures, said[name], code = _run(command)
            if code != UNAVAILABLE:
                taken[name].append(figures)
            sys.stderr.write(f"{name}, run {number} of {runs}: {_figure(figures[0])} s, {said[name]}\n")
    return [
        Cost(name, *map(median, zip(*taken[name], strict=True)), said[name])
        if taken[name]
        else Cost(name, None, None, None, said[name])
        for name in commands
    ]


def table(costs: Iterable[Cost], *, size_mb: float | None = None) -> str:
    """The costs as a Markdown table. size_mb: of the input, in millions of bytes, for a column of MB/s."""
    rate = "" if size_mb is None else " MB/s |"
    lines = [
        f"| method | wall s | CPU s | GiB |{rate} result |",
        f"|---|---|---|---|{'---|' if rate else ''}---|",
    ]
    for cost in costs:
        figures = [_figure(cost.wall_s), _figure(cost.cpu_s), _figure(cost.peak_gib)]
        if size_mb is not None:
            figures.append("-" if cost.wall_s is None else f"{size_mb / cost.wall_s:.0f}")
        lines.append(f"| {' | '.join([cost.name, *figures, cost.said])} |")
    return "\n".join(lines) + "\n"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _run(command: Sequence[str | Path]) -> tuple[float, float, float, str, int]:
    with tempfile.TemporaryFile("w+") as out:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = " ".join(out.read().split())
    if process.returncode not in (0, UNAVAILABLE):
        raise subprocess.CalledProcessError(process.returncode, list(command), said)
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / _GIB, said, process.returncode

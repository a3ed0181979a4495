"""What a postmortem costs: wall time, CPU time and peak memory of the whole command, the best of some runs.

python tests/bench/postmortem_cost.py INPUT...
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 3


def cost(source: Path, out: Path) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak resident GiB of one `tracemortem postmortem`."""
    command: list[str | Path] = [
        Path(sys.executable).parent / "tracemortem",
        "postmortem",
        source,
        "--out",
        out,
        "--quiet",
    ]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


def main(sources: list[str]) -> None:
    """Print one line an input."""
    sys.stdout.write(f"{'input':32} {'MB':>7} {'wall s':>8} {'CPU s':>8} {'GiB':>6}\n")
    for source in map(Path, sources):
        size = sum(file.stat().st_size for file in source.rglob("*") if file.is_file()) / 1e6
        with tempfile.TemporaryDirectory() as out:
            wall, cpu, memory = min(cost(source, Path(out) / str(run)) for run in range(RUNS))
        sys.stdout.write(f"{source.name:32} {size:7.1f} {wall:8.2f} {cpu:8.2f} {memory:6.2f}\n")


if __name__ == "__main__":
    main(sys.argv[1:])

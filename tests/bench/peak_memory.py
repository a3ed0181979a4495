"""Peak memory of `tracemortem ingest`, the whole command, as its input grows: that of a stream does not.

python tests/bench/peak_memory.py [--times N]... [--only INPUT]... [--scale SHARE]
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import json_log
import nginx_log
import otlp_json
import otlp_protobuf
from inputs import dcgm_text
from measure import Cost, measure, table

TIMES = (1, 4, 16)


def _nginx(folder: Path, rows: int) -> Path:
    return nginx_log.written(folder, rows)[0]


def _json(folder: Path, rows: int) -> Path:
    return json_log.written(folder, rows)[0]


def _prometheus(folder: Path, rows: int) -> Path:
    (folder / "dcgm").mkdir()
    file = folder / "dcgm" / "dcgm.prom"
    dcgm_text(file, rows)
    return file


# input -> what writes it into a folder of its own, and the rows of its smallest size
INPUTS: Mapping[str, tuple[Callable[[Path, int], Path], int]] = {
    "nginx log": (_nginx, 250_000),
    "JSON log": (_json, 250_000),
    "OTLP JSON": (otlp_json.written, 75_000),
    "OTLP protobuf": (otlp_protobuf.written, 75_000),
    "Prometheus text": (_prometheus, 125_000),
}


def cost(name: str, rows: int, folder: Path) -> Cost:
    """What ingesting a file of so many rows costs."""
    write, _ = INPUTS[name]
    file = write(folder, rows)
    command = [sys.executable, "-m", "tracemortem", "ingest", file.parent, "--quiet"]
    told = f"{name}, {rows:,} rows, {file.stat().st_size / 1e6:,.0f} MB"
    return measure(told, [*command, "--db", folder / "out.duckdb"], runs=1)


def costs(names: Sequence[str], times: Sequence[int], scale: float) -> Iterator[Cost]:
    """A row an input and size; one file at a time lies on the disk."""
    for name in names:
        for factor in times:
            with tempfile.TemporaryDirectory() as folder:
                yield cost(name, int(INPUTS[name][1] * factor * scale), Path(folder))


def main(arguments: Sequence[str]) -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, action="append", help="sizes; without it 1, 4 and 16")
    parser.add_argument("--only", choices=INPUTS, action="append")
    parser.add_argument("--scale", type=float, default=1.0, help="of the smallest size")
    given = parser.parse_args(arguments)
    sys.stdout.write(table(costs(given.only or list(INPUTS), given.times or TIMES, given.scale)))


if __name__ == "__main__":
    main(sys.argv[1:])

"""What a postmortem costs: wall time, CPU time and peak memory of the whole command.

python tests/bench/postmortem_cost.py INPUT...
"""

import sys
import tempfile
from pathlib import Path

from measure import Cost, measure, table

RUNS = 3


def cost(source: Path, out: Path) -> Cost:
    """The cost of one `tracemortem postmortem`, each run from nothing."""
    size = sum(file.stat().st_size for file in source.rglob("*") if file.is_file()) / 1e6
    afresh = 'rm -rf "$2" && exec "$0" -m tracemortem postmortem "$1" --out "$2" --quiet'
    command = ["sh", "-c", afresh, sys.executable, source, out]
    return measure(f"postmortem of {source.name}, {size:.1f} MB", command, RUNS)


def main(sources: list[str]) -> None:
    """Print one line an input."""
    with tempfile.TemporaryDirectory() as out:
        sys.stdout.write(table(cost(source, Path(out) / "run") for source in map(Path, sources)))


if __name__ == "__main__":
    main(sys.argv[1:])

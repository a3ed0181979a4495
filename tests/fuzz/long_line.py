"""What one very long line costs, in files of some formats.

python tests/fuzz/long_line.py BYTES FORMAT...    a line of JSON a file: format, shape, peak_mib, cpu_s

The file is written piece by piece, so that what is measured is what the reader takes. What a file before it
left behind counts as well: give one format for an exact figure.
"""

import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from fuzz.held import TOLD, adds_up, reference
from fuzz.seeds import Seed, seeds

from tracemortem.sources.registry import read

_PEAK = re.compile(r"VmHWM:\s+(\d+) kB")
_PIECE = 1 << 20


def _inside(seed: Seed, filling: bytes, size: int) -> Iterator[bytes]:
    """Its longest line made long behind the letter in its middle, and then the whole again."""
    line = max(seed.data.split(b"\n"), key=len)
    letters = (found.end() for found in re.finditer(rb"[A-Za-z]", line))
    at = seed.data.index(line) + min(letters, key=lambda end: abs(end - len(line) // 2), default=len(line))
    yield seed.data[:at]
    yield from [filling * _PIECE] * (size // _PIECE)
    yield seed.data[at:]
    yield seed.data


def _text(seed: Seed, size: int) -> Iterator[bytes]:
    return _inside(seed, b"x", size)


def _blank(seed: Seed, size: int) -> Iterator[bytes]:
    """Blanks in front of all, and as many inside."""
    yield from [b" " * _PIECE] * (size // _PIECE)
    yield from _inside(seed, b" ", size)


def _again(seed: Seed, size: int) -> Iterator[bytes]:
    """All that it holds, over and over on one line."""
    line = re.sub(rb"\s*\n\s*", b" ", seed.data)
    yield from [line * (_PIECE // len(line))] * (size // _PIECE)
    yield b"\n"
    yield seed.data


SHAPES: Mapping[str, Callable[[Seed, int], Iterator[bytes]]] = {
    "text": _text,
    "blank": _blank,
    "again": _again,
}


def _peak_mib() -> float:
    found = _PEAK.search(Path("/proc/self/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1]) / 1024


def main(size: int, wanted: list[str]) -> None:
    """A seed of each format, in each shape. raises AssertionError where records are not accounted for."""
    of = {seed.format: seed for seed in seeds() if seed.format in wanted and not seed.is_packed}
    chosen = list(of.values())
    with tempfile.TemporaryDirectory() as name:
        known = reference(chosen, Path(name))
        path = Path(name) / "long"
        for seed in chosen:
            for shape, pieces in SHAPES.items():
                with path.open("wb") as file:
                    file.writelines(pieces(seed, size))
                Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
                began, records = time.process_time(), 0
                for batch in read(replace(known.found[seed.format], path=path), TOLD):
                    adds_up(batch, known)
                    records += batch.records
                assert records, f"{seed.format} {shape}: nothing of the file is accounted for"
                cost = {"peak_mib": round(_peak_mib()), "cpu_s": round(time.process_time() - began, 2)}
                sys.stdout.write(json.dumps({"format": seed.format, "shape": shape, **cost}) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])

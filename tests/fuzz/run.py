"""Many damaged files of every format through recognition and reading.

python tests/fuzz/run.py CASES [SEED] [CORPUS]    what came of them, as JSON

A failing case is made smaller and shown. The case under way lies in the folder that is named first, so that
one that ends the process is not lost.
"""

import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from fuzz.held import Reference, held, reference
from fuzz.mutate import Damage, damaged, drawn
from fuzz.seeds import from_corpus, seeds


def tried(data: bytes, path: Path, known: Reference, form: str) -> tuple[str, str]:
    """What came of a file, and what went wrong, as a traceback; one of the two is ""."""
    try:
        return held(data, path, known, form), ""
    except Exception:
        return "", traceback.format_exc(limit=-6)


def smaller(
    data: bytes, damages: Sequence[Damage], other: bytes, path: Path, known: Reference, form: str
) -> bytes:
    """The failing file with as few damages as still fail, and then without the lines that it can spare."""
    kept = list(damages)
    for damage in damages:
        fewer = [one for one in kept if one is not damage]
        if tried(damaged(data, fewer, other), path, known, form)[1]:
            kept = fewer
    lines = damaged(data, kept, other).split(b"\n")
    for line in list(lines):
        if len(lines) > 1:
            fewer_lines = [one for one in lines if one is not line]
            if tried(b"\n".join(fewer_lines), path, known, form)[1]:
                lines = fewer_lines
    return b"\n".join(lines)


def run(cases: int, seed: int, corpus: Path | None) -> dict[str, object]:
    """What came of so many cases, by format, and the failures."""
    random = Random(seed)
    made = list(seeds())
    files = [one.data for one in made] + (list(from_corpus(corpus)) if corpus else [])
    came: Counter[str] = Counter()
    failures = []
    began = time.perf_counter()
    slowest = (0.0, "")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sys.stderr.write(f"{folder}\n")
        known = reference(made, folder)
        path = folder / "case"
        for _ in range(cases):
            source = random.choice(made)
            data = random.choice(files) if random.random() < 0.2 else source.data
            form = source.format if random.random() < 0.8 else ""
            damages, other = drawn(random), random.choice(files)
            started = time.perf_counter()
            outcome, fault = tried(damaged(data, damages, other), path, known, form)
            if fault:
                small = smaller(data, damages, other, path, known, form)
                failures.append({"format": form, "fault": fault, "data": repr(small[:2000])})
            else:
                came[outcome] += 1
            slowest = max(slowest, (round(time.perf_counter() - started, 2), f"{form} {damages}"))
    seconds = round(time.perf_counter() - began, 1)
    return {
        "cases": cases,
        "seed": seed,
        "came": dict(sorted(came.items())),
        "failures": failures,
        "seconds": seconds,
        "slowest": slowest,
    }


if __name__ == "__main__":
    given = sys.argv[1:]
    told = run(
        int(given[0]), int(given[1]) if len(given) > 1 else 0, Path(given[2]) if len(given) > 2 else None
    )
    json.dump(told, sys.stdout, indent=1)
    sys.exit(bool(told["failures"]))

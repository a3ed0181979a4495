"""Simulated incidents through the product, scored.

python -m simulated.run [--kinds KIND,...] [--seeds FROM-TO] [--variants NAME,...] [--keep FOLDER]
                        [--processes N]
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from simulated.cases import KINDS, UnfeltError, draw
from simulated.recording import write
from simulated.scoring import Score, reliability, score, table
from tracemortem import pipeline
from tracemortem.settings import Settings


def run(kind: str, seed: int, folder: Path, variant: str = "") -> Score | None:
    """One case through the product: its score; None if it is no incident."""
    own = folder / "-".join(filter(None, (kind, str(seed), variant)))
    try:
        case = draw(kind, seed, variant)
    except UnfeltError:
        return None
    recording = own / "recording"
    if not recording.exists():
        write(case, recording)
    pipeline.postmortem(Settings(inputs=(str(recording),), out=str(own)))
    return score(case, json.loads((own / "report.json").read_text()))


def run_all(
    kinds: Sequence[str], seeds: Sequence[int], folder: Path, processes: int, variants: Sequence[str] = ("",)
) -> Iterator[Score]:
    """The scores of every kind and seed that is what it should be; one line each on stderr.

    Each has one of the variants, in turn; the kinds begin at another one with each seed.
    """
    asked = [
        (kind, seed, folder, variants[(place + seed) % len(variants)])
        for seed in seeds
        for place, kind in enumerate(kinds)
    ]
    with ProcessPoolExecutor(processes) as pool:
        for (kind, seed, _, variant), found in zip(
            asked, pool.map(run, *zip(*asked, strict=True)), strict=True
        ):
            sys.stderr.write(f"{kind} {seed} {variant}: {found or 'no incident at any strength'}\n")
            if found:
                yield found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seeds", default="0-9")
    parser.add_argument("--variants", default="", help="of simulated.variants, in turn")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    first, _, last = asked.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    with tempfile.TemporaryDirectory() as scratch:
        folder, variants = asked.keep or Path(scratch), asked.variants.split(",")
        scores = list(run_all(asked.kinds.split(","), seeds, folder, asked.processes, variants))
    sys.stdout.write(f"{table(scores)}\n{reliability(scores)}")


if __name__ == "__main__":
    main()

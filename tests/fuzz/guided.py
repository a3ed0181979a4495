"""Files grown towards code that none reached before (coverage-guided), through recognition and reading.

python tests/fuzz/guided.py RUNS SEED FOLDER    exit code 0 if all held; else the failing input lies in FOLDER

An input's first byte says which reader is given the rest; 0 leaves that to recognition. Coverage is of
Python code: what numba compiles cannot be instrumented.
"""

import sys
from functools import partial
from pathlib import Path

import atheris

import tracemortem

SOURCES = Path(tracemortem.__file__).parent / "sources"
COMPILED = [
    f"tracemortem.sources.{path.stem}" for path in SOURCES.glob("*.py") if "numba" in path.read_text("utf-8")
]

# Readers are imported where they are first needed, so what first reads stands in such a block too.
watched = partial(atheris.instrument_imports, include=["tracemortem.sources"], exclude=COMPILED)

with watched():
    from fuzz.held import held, reference
    from fuzz.mutate import TOKENS
    from fuzz.seeds import seeds


def quoted(token: bytes) -> str:
    """As libFuzzer's dictionaries have it."""
    return "".join(f"\\x{byte:02x}" for byte in token)


def run(runs: int, seed: int, folder: Path) -> None:
    """Ends the process, as libFuzzer does: with 0, or otherwise at the first input that does not hold."""
    made = list(seeds())
    forms = ["", *sorted({one.format for one in made})]
    grown, read = folder / "grown", folder / "read"
    for place in (grown, read):
        place.mkdir()
    for number, one in enumerate(made):
        (grown / f"{number}-found").write_bytes(b"\0" + one.data)
        (grown / f"{number}-told").write_bytes(bytes([forms.index(one.format)]) + one.data)
    words = folder / "words"
    words.write_text("".join(f'"{quoted(token)}"\n' for token in TOKENS), "utf-8")
    with watched():
        known = reference(made, read)
    path = folder / "case"

    def once(data: bytes) -> None:
        if data:
            held(data[1:], path, known, forms[data[0] % len(forms)])

    limits = [f"-runs={runs}", f"-seed={seed}", "-max_len=65536", "-timeout=60", "-rss_limit_mb=4096"]
    atheris.Setup([sys.argv[0], *limits, f"-dict={words}", f"-artifact_prefix={folder}/", str(grown)], once)
    atheris.Fuzz()


if __name__ == "__main__":
    run(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))

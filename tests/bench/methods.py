"""Methods that are compared on one input: each is a function, run by its script as a process of its own."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from measure import Cost, in_turn, unavailable

# Reads the file, may write into the folder, and says what it found, by which methods are compared.
Method: TypeAlias = Callable[[Path, Path], str]


def compared(script: str, methods: Mapping[str, Method], source: Path, runs: int) -> list[Cost]:
    """What each method costs; `script` is the file that defines them and calls `run` as a program."""
    return in_turn({name: [sys.executable, script, name, source] for name in methods}, runs)


def run(methods: Mapping[str, Method], name: str, source: str) -> None:
    """Run one method, and print what it found."""
    file = Path(source)
    with tempfile.TemporaryDirectory(dir=file.parent.parent) as scratch:
        sys.stdout.write(methods[name](file, Path(scratch)))


def program(name: str, *arguments: str | Path) -> str:
    """What a peer that is a program prints; `unavailable` where it is not installed."""
    if shutil.which(name) is None:
        raise unavailable(f"{name} is not installed")
    done = subprocess.run([name, *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.decode()


def module(name: str) -> None:
    """`unavailable` where a peer that is a Python package is not installed."""
    if find_spec(name) is None:
        raise unavailable(f"{name} is not installed")


def rows(count: object, total: object, rejects: object = None) -> str:
    """How a method says what it found. total: the sum of a column; rejects: the malformed lines."""
    told = f"{count} rows, sum {total}"
    return told if rejects is None else f"{told}, malformed {rejects}"

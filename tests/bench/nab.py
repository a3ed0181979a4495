"""A detector of news in a metric, scored by the Numenta Anomaly Benchmark.

python tests/bench/nab.py [FOLDER]

NAB rewards the first alarm within a labelled window the more the earlier it is, and charges alarms outside
windows the more the farther they lie behind one (Lavin and Ahmad, ICMLA 2015). Three profiles weigh misses
and false alarms differently; 100 is perfect, 0 is a detector that never alarms.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
from nab_novelty import NEWS, novelty
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SHARED = Path(__file__).resolve().parents[3] / "shared"
CORPUS = Path("corpus/anomaly/nab")


@dataclass(frozen=True)
class Profile:
    """What a miss and a false alarm cost, where a hit earns 1."""

    miss: float
    false_alarm: float


PROFILES = {
    "standard": Profile(1, 0.11),
    "reward_low_FP_rate": Profile(1, 0.22),
    "reward_low_FN_rate": Profile(2, 0.11),
}


@dataclass(frozen=True)
class Series:
    """One file. windows: first and last sample of each labelled window, in order and apart."""

    name: str
    at_s: NDArray[np.int64]
    values: Floats
    windows: tuple[tuple[int, int], ...]

    @property
    def probation(self) -> int:
        """Samples at the start that only teach: 15 % of the file, of 5,000 samples at most."""
        return int(0.15 * min(self.values.size, 5000))


def corpus(folder: Path) -> list[Series]:
    """The series under `folder`, by name."""
    windows = json.loads((folder / "labels/combined_windows.json").read_text("utf-8"))
    return [_series(folder / "data" / name, name, windows[name]) for name in sorted(windows)]


def _series(path: Path, name: str, windows: list[list[str]]) -> Series:
    rows = pl.read_csv(path, schema_overrides={"value": pl.Float64})
    at_s = rows["timestamp"].str.to_datetime("%Y-%m-%d %H:%M:%S").dt.epoch("s").to_numpy()
    edges = [[datetime.fromisoformat(f"{edge}+00:00").timestamp() for edge in window] for window in windows]
    places = np.searchsorted(at_s, np.array(edges).reshape(-1, 2)).tolist()
    return Series(name, at_s, rows["value"].to_numpy(), tuple((first, last) for first, last in places))


def worth(position: Floats) -> Floats:
    """What an alarm is worth: 1 well before the end of a window (-1 is its start), 0 at it, -1 long after."""
    return np.where(position > 3, -1.0, 2 / (1 + np.exp(5 * np.minimum(position, 3))) - 1)


def samples(series: Series) -> tuple[Floats, NDArray[np.int64]]:
    """What an alarm at each sample after probation is worth, and the window it lies in (-1: none)."""
    values, inside = np.full(series.values.size, -1.0), np.full(series.values.size, -1)
    for number, (first, last) in enumerate(series.windows):
        length = last - first + 1
        behind = np.arange(values.size - last - 1) + 1
        values[last + 1 :] = worth(behind / (length - 1))
        values[first : last + 1] = worth(-np.arange(length, 0, -1) / length) / worth(np.array(-1.0))
        inside[first : last + 1] = number
    return values[series.probation :], inside[series.probation :]


@dataclass(frozen=True)
class Ranked:
    """Samples of some series, the highest score first, with what an alarm at each is worth."""

    scores: Floats
    worths: Floats
    window: NDArray[np.int64]
    windows: int

    def points(self, profile: Profile) -> Floats:
        """NAB's score if all samples down to each one alarm.

        Of the alarms in a window the one worth most counts, so an alarm adds what it surpasses the best of
        those before by.
        """
        order = np.lexsort((np.arange(self.window.size), self.window))
        gains = np.where(self.window < 0, self.worths * profile.false_alarm, 0.0)
        hits = order[self.window[order] >= 0]
        starts = np.flatnonzero(np.diff(self.window[hits], prepend=-1))
        for first, last in zip(starts, [*starts[1:], hits.size], strict=True):
            own = hits[first:last]
            gains[own] = np.diff(np.maximum.accumulate(self.worths[own]), prepend=-profile.miss)
        return 100 * gains.cumsum() / (self.windows * (1 + profile.miss))


def ranked(corpus: Sequence[Series], scores: Sequence[Floats]) -> Ranked:
    """All samples of the corpus by their scores, which are one array a series."""
    worths, windows, before = [], [], 0
    for series in corpus:
        worth_by_sample, inside = samples(series)
        worths.append(worth_by_sample)
        windows.append(np.where(inside < 0, inside, inside + before))
        before += len(series.windows)
    flat = np.concatenate([own[one.probation :] for one, own in zip(corpus, scores, strict=True)])
    order = np.argsort(-flat, kind="stable")
    return Ranked(flat[order], np.concatenate(worths)[order], np.concatenate(windows)[order], before)


def best(table: Ranked, profile: Profile) -> tuple[float, float]:
    """The score at the threshold that suits the corpus best, as NAB publishes it, and that threshold."""
    points = table.points(profile)
    ends = np.flatnonzero(np.append(np.diff(table.scores) != 0, True))  # equal scores alarm together
    top = ends[points[ends].argmax()]
    if points[top] <= 0:
        return 0.0, float("inf")
    return float(points[top]), float(table.scores[top])


def at(table: Ranked, profile: Profile, threshold: float) -> float:
    """The score at a threshold fixed beforehand."""
    alarms = np.count_nonzero(table.scores >= threshold)
    return float(table.points(profile)[alarms - 1]) if alarms else 0.0


def scored(corpus: Sequence[Series], detector: Callable[[Series], Floats]) -> Ranked:
    """A detector's scores over the corpus."""
    return ranked(corpus, [detector(series) for series in corpus])


def ours(series: Series) -> Floats:
    """The detector of nab_novelty."""
    return novelty(series.at_s, series.values, series.probation)


def crossed(corpus: Sequence[Series], scores: Sequence[Floats], profile: Profile) -> float:
    """The score where every other file is judged at the threshold best for the rest."""
    total = 0.0
    for half in (0, 1):
        known = ranked(corpus[half::2], scores[half::2])
        judged = ranked(corpus[1 - half :: 2], scores[1 - half :: 2])
        total += at(judged, profile, best(known, profile)[1]) * judged.windows
    return total / sum(len(series.windows) for series in corpus)


def figures(corpus: Sequence[Series]) -> dict[str, dict[str, float]]:
    """Our scores by profile: at the frozen threshold, crossed, and at the threshold best for the corpus."""
    scores = [ours(series) for series in corpus]
    table = ranked(corpus, scores)
    return {
        name: {
            "frozen": at(table, profile, NEWS),
            "crossed": crossed(corpus, scores, profile),
            "best": best(table, profile)[0],
        }
        for name, profile in PROFILES.items()
    }


def main(folder: Path) -> None:
    """Print a row a profile."""
    sys.stdout.write("| NAB profile | frozen | crossed | best |\n|---|---|---|---|\n")
    for name, row in figures(corpus(folder)).items():
        sys.stdout.write(f"| {name} | {row['frozen']:.1f} | {row['crossed']:.1f} | {row['best']:.1f} |\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED / CORPUS)

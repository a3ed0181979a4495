"""Detection over simulated weeks whose incidents are known: precision, recall, false alarms a week.

python tests/bench/latency_weeks.py [WEEKS]

A week has a daily and a weekly season in traffic and latency, a level that wanders and drifts, gaps without a
request, blips of a single minute that are no incident, and up to six incidents; every fourth has none. The
weeks follow from their seeds alone.
"""

import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracemortem.detect.spikes import spikes
from tracemortem.detect.watches import watches
from tracemortem.incident import Spike

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)  # a Monday
DAY = 1440
WEEK = 7 * DAY
KINDS = ("step", "ramp", "partial")
WEEKS = 24
FIRST_SEED = 1000


@dataclass(frozen=True)
class Planted:
    """An incident in the minutes first to last - 1. factor: of latency; share: of the requests it hits."""

    kind: str
    first: int
    last: int
    factor: float
    share: float


@dataclass(frozen=True)
class Week:
    """requests: columns service, started_at and latency_s. planted: in time order, hours apart."""

    requests: pl.DataFrame
    planted: tuple[Planted, ...]


def week(seed: int) -> Week:
    """One week; seeds divisible by four have no incident."""
    rng = np.random.default_rng(seed)
    minute = np.arange(WEEK)
    day = 0.5 - 0.5 * np.cos(2 * np.pi * (minute % DAY) / DAY)
    is_weekend = minute >= 5 * DAY
    rates = np.exp(rng.uniform(np.log(3), np.log(120))) * (0.35 + 0.65 * day) * np.where(is_weekend, 0.7, 1)
    level = rng.uniform(np.log(0.3), np.log(3)) + rng.uniform(0.05, 0.5) * day - 0.1 * is_weekend
    level += _wandering(rng, 0.05, 20) + rng.normal(0, 0.15 / np.sqrt(WEEK), WEEK).cumsum()
    for start in rng.integers(0, WEEK - 60, rng.integers(0, 4)).tolist():
        rates[start : start + int(rng.integers(5, 61))] = 0
    planted = () if seed % 4 == 0 else _planted(rng)
    for blip in rng.integers(0, WEEK, 5).tolist():
        level[blip] += np.log(rng.uniform(3, 8))

    at = np.repeat(minute, rng.poisson(rates))
    log_s = level[at] + rng.uniform(0.4, 0.7) * rng.normal(size=at.size)
    for one in planted:
        within = (at >= one.first) & (at < one.last) & (rng.random(at.size) < one.share)
        reached = (at - one.first + 1) / (one.last - one.first) if one.kind == "ramp" else np.ones(at.size)
        log_s[within] += np.log1p((one.factor - 1) * reached[within])
    offset_us = at * 60_000_000 + rng.integers(0, 60_000_000, at.size)
    frame = pl.DataFrame({"offset_us": offset_us, "latency_s": np.exp(log_s)})
    return Week(
        frame.select(
            pl.lit("chat").alias("service"),
            pl.lit(None, pl.String).alias("model"),
            (pl.lit(BEGIN).cast(pl.Datetime("us", "UTC")) + pl.duration(microseconds="offset_us")).alias(
                "started_at"
            ),
            "latency_s",
            pl.lit(value=False).alias("is_cut"),
        ),
        planted,
    )


def _wandering(rng: np.random.Generator, deviation: float, minutes: float) -> NDArray[np.float64]:
    """A first-order autoregression that forgets itself in so many minutes."""
    keep = float(np.exp(-1 / minutes))
    steps = rng.normal(0, deviation * np.sqrt(1 - keep**2), WEEK).tolist()
    values, value = [], 0.0
    for step in steps:
        value = keep * value + step
        values.append(value)
    return np.array(values)


def _planted(rng: np.random.Generator) -> tuple[Planted, ...]:
    """One to six incidents, each in a part of the week of its own, so that they are hours apart."""
    count = int(rng.integers(1, 7))
    parts = np.linspace(0, WEEK, count + 1).astype(int).tolist()
    found = []
    for begins, ends in pairwise(parts):
        kind = KINDS[int(rng.integers(len(KINDS)))]
        low, high = (90, 180) if kind == "ramp" else (5, 90)
        length = int(rng.integers(low, high + 1))
        first = int(rng.integers(begins + 120, ends - length - 120))
        share = float(rng.uniform(0.08, 0.4)) if kind == "partial" else 1.0
        found.append(Planted(kind, first, first + length, float(rng.uniform(1.6, 5)), share))
    return tuple(found)


@dataclass(frozen=True)
class Score:
    """What detection made of some weeks. found, planted: by kind; onsets: minutes late, of what was found."""

    weeks: int
    false_alarms: int
    found: dict[str, int]
    planted: dict[str, int]
    onsets: dict[str, list[float]]
    overlaps: list[float]

    @property
    def precision(self) -> float:
        """Share of the confirmed spikes that are incidents."""
        hits = sum(self.found.values())
        return hits / (hits + self.false_alarms) if hits else 0.0

    @property
    def recall(self) -> float:
        """Share of the incidents that a confirmed spike meets."""
        return sum(self.found.values()) / sum(self.planted.values())

    @property
    def f1(self) -> float:
        """Their harmonic mean."""
        return 2 * self.precision * self.recall / (self.precision + self.recall) if self.precision else 0.0


def score(seeds: range) -> Score:
    """Detection with the watch as it ships, over the weeks of the seeds."""
    watch = watches()["request_latency"]
    total = Score(len(seeds), 0, dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0), {k: [] for k in KINDS}, [])
    false_alarms = 0
    for seed in seeds:
        simulated = week(seed)
        confirmed = [one for one in spikes(simulated.requests, watch) if one.status == "confirmed"]
        edges = [_edges(one) for one in confirmed]
        for incident in simulated.planted:
            total.planted[incident.kind] += 1
            own = [edge for edge in edges if edge[0] < incident.last and incident.first < edge[1]]
            if own:
                first, last = own[0][0], own[-1][1]
                total.found[incident.kind] += 1
                total.onsets[incident.kind].append(first - incident.first)
                shared = min(last, incident.last) - max(first, incident.first)
                total.overlaps.append(shared / (max(last, incident.last) - min(first, incident.first)))
        false_alarms += sum(
            all(edge[0] >= one.last or one.first >= edge[1] for one in simulated.planted) for edge in edges
        )
    return Score(total.weeks, false_alarms, total.found, total.planted, total.onsets, total.overlaps)


def _edges(spike: Spike) -> tuple[float, float]:
    minutes = timedelta(minutes=1)
    return (spike.start - BEGIN) / minutes, WEEK if spike.end is None else (spike.end - BEGIN) / minutes


def main(weeks: int) -> None:
    """Print the figures of so many weeks as a Markdown table."""
    total = score(range(FIRST_SEED, FIRST_SEED + weeks))
    rows = [
        ("F1", f"{total.f1:.2f}"),
        ("precision", f"{total.precision:.2f}"),
        ("recall", f"{total.recall:.2f}"),
        ("false alarms a week", f"{total.false_alarms / total.weeks:.2f}"),
        ("median overlap (IoU)", f"{np.median(total.overlaps):.2f}"),
    ]
    for kind in KINDS:
        late = np.array(total.onsets[kind])
        rows.append((f"recall, {kind}", f"{total.found[kind]} of {total.planted[kind]}"))
        rows.append(
            (f"onset within 2 min, {kind}", f"{np.mean(np.abs(late) <= 2):.2f}" if late.size else "-")
        )
    sys.stdout.write(f"| {weeks} weeks | |\n|---|---|\n")
    sys.stdout.writelines(f"| {name} | {value} |\n" for name, value in rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else WEEKS)

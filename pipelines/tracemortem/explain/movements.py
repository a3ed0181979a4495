"""How each signal moved in an incident, whether by chance, and when its move began."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracemortem.declared import load
from tracemortem.errors import DefinitionError
from tracemortem.explain.chance import critical, memory, two_sided
from tracemortem.findings import Movement
from tracemortem.incident import Spike

REFERENCE = "latency_p99_s"  # the signal that the others are put in order with
_MINUTE_S = 60
_LEAST = 5  # minutes on either side of a change
_SURE = 0.95
_TAIL = 0.025


@dataclass(frozen=True)
class Course:
    """One signal as movements.yaml declares it: its title and unit."""

    signal: str
    title: str
    unit: str


@dataclass(frozen=True)
class _Onset:
    """When a signal changed. weight: probability by minute; minutes: since 1970; every_s: between samples."""

    minutes: NDArray[np.int64]
    weight: NDArray[np.float64]
    every_s: float

    def quantile(self, q: float) -> int:
        """The minute before which the change lies with probability q."""
        return int(self.minutes[min(int(np.searchsorted(np.cumsum(self.weight), q)), self.minutes.size - 1)])

    def before(self, other: "_Onset") -> float:
        """The probability that it came before the other."""
        cumulated = np.cumsum(other.weight)
        later = 1 - cumulated[np.searchsorted(other.minutes, self.minutes, "right").clip(1) - 1]
        later[self.minutes < other.minutes[0]] = 1.0
        return float(self.weight @ later)


def read_courses(path: Path) -> tuple[Course, ...]:
    """The signals of movements.yaml in order; raises DefinitionError for one without title or unit."""
    found = []
    for name, entry in load(path, known=("signals",), required=("signals",))["signals"].items():
        if not isinstance(entry, dict) or set(entry) != {"title", "unit"}:
            raise DefinitionError(
                f"the signal {name!r} is declared wrongly",
                where=str(path),
                why="a signal has a title and a unit",
                fix=f"write  {name}: {{title: ..., unit: ...}}",
            )
        found.append(Course(name, entry["title"], entry["unit"]))
    return tuple(found)


@dataclass(frozen=True)
class Compared:
    """One signal in the incident beside the time before, q and verdict not known yet, and its course."""

    move: Movement
    course: pl.DataFrame


def compared(courses: Sequence[Course], frame: pl.DataFrame, spike: Spike) -> tuple[Compared, ...]:
    """Each signal that was recorded in the incident and before it, in the order of the courses.

    frame     mart.signal_minute of the incident's service, in the order of signal and minute
    """
    every = (_compared(course, frame.filter(pl.col("signal") == course.signal), spike) for course in courses)
    return tuple(one for one in every if one is not None)


def movements(
    found: Sequence[Compared],
    q_values: Sequence[float],
    spike: Spike,
    skew_s: float | None,
    settings: Mapping[str, float],
) -> tuple[Movement, ...]:
    """How each signal that was compared moved, in the same order.

    q_values  the p of each, adjusted for everything that was looked at
    skew_s    how far the clocks of the service's hosts may be apart; None: not known, and taken for nothing
    settings  same_ratio, false_discovery_rate (thresholds.yaml)

    Changed: the mean over the minutes of the incident differs from that of the baseline (Welch's t, with as
    many values as the series has beyond its memory), at the false discovery rate.
    Unchanged: it is shown to be the same, its 95 % interval lying within same_ratio of the baseline; that it
    did not change by much more than chance is not enough. Else undecided.

    An onset is an interval, of 95 % of the probability of where two means fit best, widened by the time
    between two samples. Which of two came first is said only with 95 % probability and if they lie at least
    two samples and the skew apart.
    """
    judged = [
        (replace(one.move, q=q, verdict=_verdict(one.move, q, settings)), one.course)
        for one, q in zip(found, q_values, strict=True)
    ]
    onsets = {
        move.signal: onset
        for move, own in judged
        if (move.verdict == "changed" or move.signal == REFERENCE)
        and (onset := _onset(own, spike)) is not None
    }
    return tuple(_timed(move, onsets, skew_s or 0.0) for move, _ in judged)


def _compared(course: Course, own: pl.DataFrame, spike: Spike) -> Compared | None:
    """The difference between incident and baseline; None where either has too few minutes."""
    end = spike.end or datetime.max.replace(tzinfo=UTC)
    before = own.filter(pl.col("minute").is_between(spike.baseline_start, spike.baseline_end, "left"))
    during = own.filter(pl.col("minute").is_between(spike.start, end, "left"))
    if min(before.height, during.height) < _LEAST:
        return None
    x, y = before["value"].to_numpy(), during["value"].to_numpy()
    variances = [float(np.var(each, ddof=1)) * memory(each - each.mean()) / each.size for each in (x, y)]
    difference, error = float(y.mean() - x.mean()), math.sqrt(sum(variances))
    sizes = [each.size / memory(each - each.mean()) for each in (x, y)]
    df = _degrees(variances, sizes)
    if error > 0:
        p, margin = two_sided(difference / error, df), critical(1 - _SURE, df) * error
    else:  # each of them constant
        p, margin = float(difference == 0), 0.0
    moved = Movement(
        signal=course.signal,
        title=course.title,
        unit=course.unit,
        value=float(y.mean()),
        baseline=float(x.mean()),
        low=difference - margin,
        high=difference + margin,
        p=p,
        q=p,
        verdict="undecided",
        onset_earliest=None,
        onset_latest=None,
        order=None,
    )
    return Compared(moved, own)


def _degrees(variances: Sequence[float], sizes: Sequence[float]) -> float:
    """Welch and Satterthwaite's degrees of freedom."""
    below = sum(v * v / max(n - 1, 1.0) for v, n in zip(variances, sizes, strict=True))
    return max(sum(variances) ** 2 / below, 1.0) if below > 0 else 1.0


def _verdict(move: Movement, q: float, settings: Mapping[str, float]) -> str:
    margin = settings["same_ratio"] * abs(move.baseline)
    if -margin <= move.low and move.high <= margin:
        return "unchanged"
    return "changed" if q <= settings["false_discovery_rate"] else "undecided"


def _onset(own: pl.DataFrame, spike: Spike) -> _Onset | None:
    """Where a series changed, from an hour before the incident to its end; None if too little was recorded.

    The probability that it changed before minute k is that of two means with normal noise, with the noise
    level integrated out, exp(-n/2 ln SSE(k)), n being the values beyond the memory of the series.
    """
    low = max(spike.start - timedelta(hours=1), own["minute"].min() or spike.start)
    if spike.baseline_end <= spike.start:
        low = max(low, spike.baseline_start)
    near = own.filter(pl.col("minute").is_between(low, spike.end or own["minute"].max(), "left"))
    x = near["value"].to_numpy()
    if x.size < 2 * _LEAST or near.filter(pl.col("minute") < spike.onset_earliest).height < _LEAST:
        return None
    k = np.arange(_LEAST, x.size - _LEAST + 1)
    sums, squares = np.cumsum(x), np.cumsum(x * x)
    left = squares[k - 1] - sums[k - 1] ** 2 / k
    right = (squares[-1] - squares[k - 1]) - (sums[-1] - sums[k - 1]) ** 2 / (x.size - k)
    errors = np.maximum(left + right, 1e-12 * max(float(squares[-1]), 1e-300))
    best = int(k[np.argmin(errors)])
    residuals = np.concatenate([x[:best] - x[:best].mean(), x[best:] - x[best:].mean()])
    logs = -x.size / memory(residuals) / 2 * np.log(errors)
    weight = np.exp(logs - logs.max())
    every_s = near.select(pl.median("every_s")).item()
    minutes = near["minute"].dt.epoch("s").to_numpy()[k - (k == x.size)] // _MINUTE_S
    return _Onset(minutes, weight / weight.sum(), max(every_s or 0.0, _MINUTE_S))


def _timed(move: Movement, onsets: Mapping[str, _Onset], skew_s: float) -> Movement:
    """The movement with its onset, and whether that came before latency's or after it."""
    own, reference = onsets.get(move.signal), onsets.get(REFERENCE)
    if own is None:
        return move
    earliest, latest = own.quantile(_TAIL), own.quantile(1 - _TAIL)
    order = None
    if reference is not None and move.signal != REFERENCE:
        apart_s = _MINUTE_S * (own.quantile(0.5) - reference.quantile(0.5))
        is_apart = abs(apart_s) >= 2 * max(own.every_s, reference.every_s) + skew_s
        if is_apart and own.before(reference) >= _SURE:
            order = "before"
        elif is_apart and reference.before(own) >= _SURE:
            order = "after"
        else:
            order = "not_resolvable"
    return replace(
        move,
        # the value of a minute, or of the first sample after it, is the first that may show the change
        onset_earliest=datetime.fromtimestamp(_MINUTE_S * earliest - own.every_s, UTC),
        onset_latest=datetime.fromtimestamp(_MINUTE_S * (latest + 1), UTC),
        order=order,
    )

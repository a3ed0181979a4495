"""Which alert rules would have fired, when, and how often for nothing."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracemortem.declared import load
from tracemortem.errors import DefinitionError
from tracemortem.explain.signals import figure
from tracemortem.findings import Alert
from tracemortem.incident import Spike

LATENCY = "latency_p99"
_KNOWN = ("rule", "title", "signal", "unit", "when", "level", "hold_minutes", "every_s", "promql")
_OPTIONAL = ("every_s", "promql")
_WORDS = {
    "above": "above {level}",
    "times_baseline": "above {level} times its usual {usual}",
    "below_baseline": "{level} or more below its usual {usual}",
    "below_times_baseline": "below {level} times its usual {usual}",
}
_QUIET_MINUTES = 60  # less than that says nothing about a rate of false alarms
_SLACK = 1.05  # a scraper is not on time to the millisecond
_DAY_MINUTES = 1440


@dataclass(frozen=True)
class Rule:
    """One alert rule of rules.yaml. when: above, times_baseline, below_baseline, below_times_baseline.

    level         name of the threshold
    hold_minutes  minutes in a row in which it must hold
    every_s       time between two looks at the signal; None: of no account
    promql        the condition for Prometheus, the level as {level}, the length of a long prompt as
                  {prompt_bound}; None: no usual metric tells it
    """

    rule: str
    title: str
    signal: str
    unit: str
    when: str
    level: str
    hold_minutes: int
    every_s: float | None
    promql: str | None


def read_rules(path: Path) -> tuple[Rule, ...]:
    """The rules of rules.yaml in order; raises DefinitionError naming the rule at fault."""
    return tuple(_rule(entry, path) for entry in load(path, known={"rules"}, required={"rules"})["rules"])


def alerts(
    rules: Sequence[Rule],
    frame: pl.DataFrame,
    spike: Spike,
    busy: Sequence[tuple[datetime, datetime]],
    settings: Mapping[str, float],
    long_tokens: float,
) -> tuple[Alert, ...]:
    """What each rule would have done in one incident, in the order of the rules.

    frame     mart.signal_minute of the incident's service, in the order of signal and minute
    busy      from and to of every confirmed incident of the service: what fires there is no false alarm
    settings  the levels by their names
    long_tokens  the length from which on a prompt is long

    A rule fired for the incident if it fired in it, or before and was still firing when latency rose. The
    lead is the time by which it fires before the rule `latency_p99`, negative if after it; None where one of
    them does not fire. A false alarm is a firing in quiet time; the rate is None where less than an hour of
    quiet time is recorded.
    """
    watched = [_Watched(rule, frame, spike, settings, prompt_bound(long_tokens)) for rule in rules]
    fired = {one.rule.rule: one.fired(spike) for one in watched}
    return tuple(one.alert(fired, busy) for one in watched)


def prompt_bound(long_tokens: float) -> int:
    """The bound of vLLM's histogram of prompt lengths (1, 2, 5, 10, ...) nearest to that length, in tokens.

    Nearest by ratio; of two equally near the smaller.
    """
    bounds: list[int] = [digit * 10**power for power in range(9) for digit in (1, 2, 5)]
    return min(bounds, key=lambda bound: abs(math.log(bound / max(long_tokens, 1.0))))


def filled(promql: str, level: float, bound: int) -> str:
    """A rule's query with its numbers. PromQL has braces of its own, so `format` would not do."""
    return promql.replace("{level}", f"{level:g}").replace("{prompt_bound}", f"{bound}.0")


class _Watched:
    """One rule over the course of its signal."""

    def __init__(
        self, rule: Rule, frame: pl.DataFrame, spike: Spike, settings: Mapping[str, float], bound: int
    ) -> None:
        own = frame.filter(pl.col("signal") == rule.signal)
        self.rule, self._level, self._bound = rule, settings[rule.level], bound
        self._minutes: NDArray[np.int64] = own["minute"].dt.epoch("s").to_numpy() // 60
        usual = own.filter(pl.col("minute").is_between(spike.baseline_start, spike.baseline_end, "left"))
        self._usual = usual.select(pl.median("value")).item()
        self._every_s = own.select(pl.median("every_s")).item()
        self._firings = self._of(own["value"].to_numpy())
        self._untestable = self._why_untestable()

    def fired(self, spike: Spike) -> datetime | None:
        """When it first fired for this incident."""
        if self._untestable:
            return None
        low = _minute(spike.onset_earliest)
        high = _minute(spike.end) if spike.end else int(self._minutes[-1]) + 1
        meant = [begin for begin, end in self._firings if end > low and begin <= high]
        return datetime.fromtimestamp(60 * meant[0], UTC) if meant else None

    def alert(self, fired: Mapping[str, datetime | None], busy: Sequence[tuple[datetime, datetime]]) -> Alert:
        at, latency_at = fired[self.rule.rule], fired.get(LATENCY)
        false, quiet = (0, 0) if self._untestable else self._quiet(busy)
        lead = latency_at - at if at and latency_at and self.rule.rule != LATENCY else None
        return Alert(
            rule=self.rule.rule,
            status="not_testable" if self._untestable else "fired" if at else "silent",
            would_have_fired_at=at,
            lead_seconds=None if lead is None else lead.total_seconds(),
            false_alarms_per_day=false * _DAY_MINUTES / quiet if quiet >= _QUIET_MINUTES else None,
            text=self._untestable or self._told(false, quiet),
            promql=self.rule.promql and filled(self.rule.promql, self._level, self._bound),
            hold_minutes=self.rule.hold_minutes,
        )

    def _why_untestable(self) -> str:
        """Why the rule cannot be tested, a sentence; "" if it can."""
        if not self._minutes.size:
            return f"{self.rule.title}: not recorded"
        if self._usual is None and self.rule.when != "above":
            return f"{self.rule.title}: not recorded in the time before"
        looks_s = self.rule.every_s
        if looks_s is not None and self._every_s is not None and self._every_s > _SLACK * looks_s:
            return (
                f"{self.rule.title}: the rule looks every {looks_s:g} s, "
                f"and the data has one value in {self._every_s:g} s"
            )
        return ""

    def _of(self, values: NDArray[np.float64]) -> list[tuple[int, int]]:
        """From and to, in minutes since 1970, of every time it fires: the rule held for long enough."""
        usual = np.nan if self._usual is None else self._usual
        holds = {
            "above": values > self._level,
            "times_baseline": values > self._level * usual,
            "below_baseline": values <= usual - self._level,
            "below_times_baseline": values < self._level * usual,
        }[self.rule.when]
        minutes = self._minutes[holds]
        runs = np.split(minutes, np.flatnonzero(np.diff(minutes) != 1) + 1) if minutes.size else []
        hold = self.rule.hold_minutes
        return [(int(run[0]) + hold, int(run[-1]) + 1) for run in runs if run.size >= hold]

    def _quiet(self, busy: Sequence[tuple[datetime, datetime]]) -> tuple[int, int]:
        """Firings in quiet time, and how many minutes of it are recorded."""
        spans = [(_minute(begin), _minute(end)) for begin, end in busy]
        is_busy = np.zeros(self._minutes.size, np.bool_)
        for begin, end in spans:
            is_busy |= (self._minutes >= begin) & (self._minutes < end)
        false = [
            firing
            for firing in self._firings
            if all(firing[1] <= begin or firing[0] > end for begin, end in spans)
        ]
        return len(false), int(np.count_nonzero(~is_busy))

    def _told(self, false: int, quiet: int) -> str:
        unit, when = self.rule.unit, self.rule.when
        is_factor = when in {"times_baseline", "below_times_baseline"}
        bound = _WORDS[when].format(
            level=f"{self._level:g}" if is_factor else figure(self._level, unit),
            usual=figure(self._usual, unit),
        )
        return (
            f"{self.rule.title} {bound}, for {self.rule.hold_minutes} min; "
            f"false alarms: {false} in {quiet / 60:.1f} quiet hours"
        )


def _minute(at: datetime) -> int:
    return int(at.timestamp()) // 60


def _rule(entry: Mapping[str, Any], path: Path) -> Rule:
    wrong = [key for key in entry if key not in _KNOWN]
    lacking = [key for key in _KNOWN if key not in entry and key not in _OPTIONAL]
    if wrong or lacking or entry["when"] not in _WORDS:
        at_fault = (
            f"nobody reads {wrong[0]!r}"
            if wrong
            else f"{lacking[0]!r} is missing"
            if lacking
            else f"`when` is {entry['when']!r}"
        )
        raise DefinitionError(
            f"the alert rule {entry.get('rule')!r} is declared wrongly",
            where=str(path),
            why=at_fault,
            fix=f"known keys are {', '.join(_KNOWN)}; `when` is one of {', '.join(_WORDS)}",
        )
    return Rule(**{**dict.fromkeys(_OPTIONAL), **entry})

"""Which column is watched for spikes, and the numbers that decide: watches.yaml, loaded."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tracemortem.declared import Threshold, load
from tracemortem.errors import DefinitionError, SettingError

DEFINITION = Path(__file__).with_name("watches.yaml")
ODDS = ("slow_odds_slight", "slow_odds_marked", "slow_odds_strong", "slow_odds_total")
READ = frozenset(
    {
        *ODDS,
        "evidence",
        "share_odds",
        "candidate_ratio",
        "confirmed_evidence",
        "confirmed_ratio",
        "confirmed_requests",
        "confirmed_minutes",
        "remaining_evidence",
        "edge_evidence",
        "merge_minutes",
        "shift_penalty",
        "shift_clip",
        "shift_height",
        "shift_deviation_least",
        "shift_longest_minutes",
        "silence_minutes",
        "baseline_reach_minutes",
        "day_reach_minutes",
        "block_minutes",
        "edge_before_minutes",
        "edge_after_minutes",
        "quiet_minutes",
        "quiet_minutes_least",
        "quiet_requests_least",
    }
)


@dataclass(frozen=True)
class Watch:
    """One series watched. column: seconds per request. quantiles: ascending, each scanned on its own."""

    name: str
    about: str
    column: str
    quantiles: tuple[float, ...]
    numbers: Mapping[str, Threshold]

    def number(self, name: str) -> float:
        """The value of one number; its unit stands in watches.yaml."""
        return self.numbers[name].value

    @property
    def odds(self) -> tuple[float, ...]:
        """The odds of a slow request, against the usual, that the scan tries."""
        return tuple(self.number(name) for name in ODDS)


def watches(path: Path = DEFINITION, overrides: Mapping[str, float] | None = None) -> dict[str, Watch]:
    """Every watch by name.

    overrides  numbers set by the user, by name
    raises     DefinitionError for a faulty file, SettingError for an override of a number that is not there
    """
    text = load(path, known=("watches", "numbers"), required=("watches", "numbers"))
    numbers = _numbers(path, text["numbers"])
    for name, value in (overrides or {}).items():
        if name not in numbers:
            raise SettingError(
                f"no number of detection is called {name!r}",
                where=f"--set {name}={value}",
                why=f"known are {', '.join(sorted(numbers))}",
                fix="write --set NAME=VALUE with one of these names",
            )
        old = numbers[name]
        numbers[name] = Threshold(name, value, old.unit, old.why, "set by the user")
    return {name: _watch(path, name, entry, numbers) for name, entry in text["watches"].items()}


def _numbers(path: Path, entries: Mapping[str, Mapping[str, object]]) -> dict[str, Threshold]:
    """The numbers of the file, complete and none too many."""
    if set(entries) != READ:
        odd = sorted(set(entries) ^ READ)
        raise DefinitionError(
            f"{path.name} has numbers nobody reads, or lacks some: {', '.join(odd)}",
            where=str(path),
            why=f"read are {', '.join(sorted(READ))}",
            fix="correct the spelling, take out what is too much, add what is missing",
        )
    table = {}
    for name, entry in entries.items():
        value = entry.get("value")
        if set(entry) != {"value", "unit", "why", "source"} or not isinstance(value, int | float):
            raise DefinitionError(
                f"number {name!r} is not a value with unit, why and source",
                where=str(path),
                why="a number without unit, reason and source cannot be defended in a postmortem",
                fix="state value (a number), unit, why and source, and nothing else",
            )
        table[name] = Threshold(name, value, str(entry["unit"]), str(entry["why"]), str(entry["source"]))
    return table


def _watch(path: Path, name: str, entry: Mapping[str, object], numbers: Mapping[str, Threshold]) -> Watch:
    """One watch of the file."""
    quantiles = entry.get("quantiles")
    if set(entry) != {"about", "column", "quantiles"} or not isinstance(quantiles, list):
        raise DefinitionError(
            f"watch {name!r} is not about, column and quantiles",
            where=str(path),
            why="a watch says what it means, which column it reads and which quantiles it scans",
            fix="state about, column and quantiles (a list), and nothing else",
        )
    if not quantiles or sorted(set(quantiles)) != quantiles or not 0.5 <= quantiles[0] <= quantiles[-1] < 1:
        raise DefinitionError(
            f"watch {name!r} has quantiles {quantiles}",
            where=str(path),
            why="they must ascend from 0.5 at least to below 1",
            fix="write for example quantiles: [0.9, 0.95, 0.99]",
        )
    return Watch(name, str(entry["about"]), str(entry["column"]), tuple(quantiles), numbers)

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
        "failure_share_usual",
        "failure_share_least",
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

_ENTRIES = {"about", "title", "column", "quantiles", "floor_s", "least_rise_s"}


@dataclass(frozen=True)
class Watch:
    """One series watched.

    title         what it is, to be read after "p99 of"
    column        seconds per request
    quantiles     ascending, each scanned on its own
    floor_s       less counts as this much
    least_rise_s  a spike whose quantile rose by less is none, whatever the ratio
    """

    name: str
    about: str
    title: str
    column: str
    quantiles: tuple[float, ...]
    floor_s: float
    least_rise_s: float
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
    if set(entry) != _ENTRIES or not isinstance(quantiles, list):
        raise DefinitionError(
            f"watch {name!r} is not {', '.join(sorted(_ENTRIES))}",
            where=str(path),
            why="a watch says what it means, what it reads, which quantiles it scans and what matters",
            fix="state these, quantiles as a list, and nothing else",
        )
    if not quantiles or sorted(set(quantiles)) != quantiles or not 0.5 <= quantiles[0] <= quantiles[-1] < 1:
        raise DefinitionError(
            f"watch {name!r} has quantiles {quantiles}",
            where=str(path),
            why="they must ascend from 0.5 at least to below 1",
            fix="write for example quantiles: [0.9, 0.95, 0.99]",
        )
    return Watch(
        name=name,
        about=str(entry["about"]),
        title=str(entry["title"]),
        column=str(entry["column"]),
        quantiles=tuple(quantiles),
        floor_s=_seconds(path, name, entry["floor_s"]),
        least_rise_s=_seconds(path, name, entry["least_rise_s"]),
        numbers=numbers,
    )


def _seconds(path: Path, name: str, entry: object) -> float:
    """A number of seconds above 0, with its reason."""
    if isinstance(entry, dict) and set(entry) == {"value", "why"}:
        value = entry["value"]
        if isinstance(value, int | float) and value > 0:
            return float(value)
    raise DefinitionError(
        f"watch {name!r} has no seconds above 0 with a reason where it says {entry!r}",
        where=str(path),
        why="below a floor latencies have no logarithm, and a rise that nobody feels is no incident",
        fix="write for example floor_s: {value: 0.01, why: a tenth of what is felt}",
    )

"""What a replay says of simulated incidents, beside what happens when the thing is undone in the simulator.

PYTHONPATH=tests python tests/bench/replay_truth.py [--kinds KIND,...] [--seeds FROM-TO] [--variant NAME]
                                                    [--policies] [--keep FOLDER]

Each case is written down, goes through the product, and is simulated once more without each of its parts, and
under each of some policies: the same requests, the same random numbers. The simulator is not built like the
replay's model; ARCHITECTURE.md ("Replay") states how they differ.
"""

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from replay_policies import p99s
from simulated.cases import Case, UnfeltError, draw
from simulated.fleet import GONE, Fleet
from simulated.parts import Part
from simulated.recording import write

from tracemortem import pipeline
from tracemortem.settings import Settings

# What the replay puts back, of what was simulated; it knows no way to undo the other kinds.
RESETS = {
    "long_context_surge": "long",
    "cache_pollution": "cache",
    "prefix_cache_disabled": "cache",
    "traffic_surge": "traffic",
    "output_length_surge": "outputs",
    "mix_shift": "mix",
    "gpu_throttle": "speed",
    "straggler_replica": "speed",
    "replica_loss": "replicas",
    "gpu_fault": "replicas",
    "upstream_network": "front",
    "cpu_or_tokenizer_bottleneck": "front",
}
SLOW = {"gpu_throttle", "straggler_replica", "memory_bandwidth_saturation"}  # hardware, or as good as that
KINDS = (*RESETS, "confounded", "two_causes")
ALIKE = 0.1  # P99s that differ by less have no order: other random numbers move one by 1 to 6 % (deviation)
NEAR, CLOSE = 0.1, 0.2  # a share, and a P99, that are as good as right
SOUND = 1.06  # times as long as usual, up to which steps of a sound engine may seem to last
FIRST_SEED, SEEDS = 7000, 2  # seen by nobody who wrote replay or hypotheses


@dataclass(frozen=True)
class Undone:
    """One part of a case put back: the share of the P99's rise that goes and the P99 then, said and true."""

    part: str
    share: float
    true_share: float
    p99_s: float
    true_p99_s: float


@dataclass(frozen=True)
class Tried:
    """A policy: the P99 with it, said and true; "" is none."""

    policy: str
    p99_s: float
    true_p99_s: float


@dataclass(frozen=True)
class Told:
    """What the replay of one case said.

    status   quantified, ranked or not_available; text says why
    error    of the incident's P99 replayed against the recorded one, relative; before: of the baseline's
    slowest  of any engine in any five minutes: times as long as usual; None: not told
    is_slow  whether any engine truly was slower
    """

    kind: str
    seed: int
    status: str
    text: str
    error: float | None
    before: float | None
    slowest: float | None
    is_slow: bool
    undone: tuple[Undone, ...]
    tried: tuple[Tried, ...] = ()

    @property
    def tau(self) -> float | None:
        """Kendall's tau of the policies' order, over pairs that truly differ; None without such a pair."""
        signs = [
            np.sign((one.p99_s - other.p99_s) * (one.true_p99_s - other.true_p99_s))
            for one, other in itertools.combinations(self.tried, 2)
            if abs(np.log(one.true_p99_s / other.true_p99_s)) > ALIKE
        ]
        return float(np.mean(signs)) if signs else None


def figures(every: Sequence[Told]) -> Mapping[str, float]:
    """What came of all cases: medians, shares of those that are right, and how many each is of."""
    stated = [one for one in every if one.status == "quantified"]
    undone = [part for one in stated for part in one.undone]
    tried = [policy for one in stated for policy in one.tried if policy.policy]
    taus = [one.tau for one in every if one.tau is not None]
    slow, sound = (
        [one.slowest for one in every if one.slowest and one.is_slow is is_it] for is_it in (True, False)
    )
    return {
        "cases": len(every),
        "quantified": len(stated),
        "ranked": sum(one.status == "ranked" for one in every),
        "median error of P99": _median([abs(one.error) for one in every if one.error is not None]),
        "factors undone": len(undone),
        "shares within .10": _share(abs(part.share - part.true_share) <= NEAR for part in undone),
        "P99s without within 20 %": _share(abs(part.p99_s / part.true_p99_s - 1) <= CLOSE for part in undone),
        "policies tried": len(tried),
        "P99s with a policy within 20 %": _share(
            abs(one.p99_s / one.true_p99_s - 1) <= CLOSE for one in tried
        ),
        "Kendall's tau, mean": float(np.mean(taus)) if taus else np.nan,
        "Kendall's tau, median": _median(taus),
        "engines sound": len(sound),
        "of them found so": _share(one <= SOUND for one in sound),
        "engines slow": len(slow),
        "of them found so too": _share(one > SOUND for one in slow),
    }


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else np.nan


def _share(held: Iterable[bool]) -> float:
    every = list(held)
    return sum(every) / len(every) if every else np.nan


def told(kind: str, seed: int, variant: str, folder: Path, *, is_tried: bool) -> Told | None:
    """One case through the product, and under policies if asked.

    None where nothing was felt, or no incident was confirmed there.
    """
    try:
        case = draw(kind, seed, variant)
    except UnfeltError:
        return None
    recording = folder / "recording"
    write(case, recording)
    pipeline.postmortem(Settings(inputs=(str(recording),), out=str(folder)))
    report = json.loads((folder / "report.json").read_text())
    found = [one for one in report["incidents"] if one["replay"] and _is_of(case, one, report)]
    return _compared(case, found[0], report, is_tried) if found else None


def _is_of(case: Case, incident: Mapping[str, Any], report: Mapping[str, Any]) -> bool:
    assert case.effect.window is not None
    first, last = (case.shop.start + 60.0 * minute for minute in case.effect.window)
    start, end = _window(incident, report)
    return start < last and end > first


def _compared(case: Case, incident: Mapping[str, Any], report: Mapping[str, Any], is_tried: bool) -> Told:
    replay, window = incident["replay"], _window(incident, report)
    before, during = replay["before_recorded_s"], replay["during_recorded_s"]
    resets = {one["name"]: one for one in replay["resets"]}
    undone = []
    for part in case.parts:
        reset = resets.get(_reset(part))
        if reset:
            rest = tuple(one for one in case.parts if one is not part)
            p99_s = _p99_s(case, case.again(rest), window)
            share = (during - p99_s) / (during - before)
            undone.append(Undone(part.kind or _reset(part), reset["share"], share, reset["p99_s"], p99_s))
    kinds = {part.kind for part in case.parts}
    return Told(
        case.kind,
        case.seed,
        replay["status"],
        replay["text"],
        _relative(replay["during_replayed_s"], during),
        _relative(replay["before_replayed_s"], before),
        replay["slowest"],
        bool(kinds & SLOW) or any(part.trouble.actions for part in case.again.beside),
        tuple(undone),
        _tried(case, incident, window) if is_tried else (),
    )


def _tried(case: Case, incident: Mapping[str, Any], window: tuple[float, float]) -> tuple[Tried, ...]:
    said = {one["policy"]: one["predicted"] for one in incident["what_if"] if one["predicted"]}
    if not said:
        return ()
    p99_s = {name: one["p99_s"]["value"] for name, one in said.items() if one["p99_s"]}
    p99_s[""] = incident["replay"]["during_replayed_s"]
    true_p99_s = p99s(case, lambda fleet: _p99_s(case, fleet, window))
    return tuple(Tried(name, p99_s[name], true) for name, true in true_p99_s.items() if name in p99_s)


def _reset(part: Part) -> str:
    """What undoes it; of red herrings, warm GPUs come with actions and documents with requests."""
    return RESETS.get(part.kind, "") if part.kind else "speed" if part.trouble.actions else "long"


def _window(incident: Mapping[str, Any], report: Mapping[str, Any]) -> tuple[float, float]:
    ends = incident["start"], incident["end"] or report["window"]["to"]
    start, end = (datetime.fromisoformat(one).timestamp() for one in ends)
    return start, end


def _p99_s(case: Case, fleet: Fleet, window: tuple[float, float]) -> float:
    start, end = (at - case.shop.start for at in window)
    return float(
        np.quantile(
            [
                one.ended_at - one.ask.at
                for one in fleet.exchanges
                if start <= one.ask.at < end and (one.status < 400 or one.status >= GONE)
            ],
            0.99,
        )
    )


def _relative(value: float | None, wanted: float | None) -> float | None:
    return None if value is None or wanted is None else value / wanted - 1


def all_told(
    kinds: Sequence[str], seeds: Iterable[int], variant: str, folder: Path, *, is_tried: bool
) -> Iterator[Told]:
    """Every kind and seed that is an incident; one line each on stderr."""
    for seed in seeds:
        for kind in kinds:
            own = folder / f"{kind}-{seed}-{variant}"
            found = told(kind, seed, variant, own, is_tried=is_tried)
            sys.stderr.write(f"{kind} {seed}: {found or 'no incident'}\n")
            if found:
                yield found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seeds", default=f"{FIRST_SEED}-{FIRST_SEED + SEEDS - 1}")
    parser.add_argument("--variant", default="unlike")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--policies", action="store_true", help="try these too")
    asked = parser.parse_args()
    first, _, last = asked.seeds.partition("-")
    with tempfile.TemporaryDirectory() as scratch:
        folder, seeds = asked.keep or Path(scratch), range(int(first), int(last or first) + 1)
        kinds = asked.kinds.split(",")
        every = list(all_told(kinds, seeds, asked.variant, folder, is_tried=asked.policies))
    for name, value in figures(every).items():
        sys.stdout.write(f"{name}: {value:.3g}\n")


if __name__ == "__main__":
    main()

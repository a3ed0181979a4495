"""What a case is made of: the parts that go wrong, each undone alone to see whether it was needed."""

from collections.abc import Callable
from dataclasses import dataclass, field

from simulated.fleet import Fleet, Trouble
from simulated.traffic import Ask


@dataclass(frozen=True, eq=False)
class Part:
    """One thing that goes wrong. kind: a cause of the contract, or "" for a red herring."""

    kind: str
    trouble: Trouble
    culprits: tuple[str, ...] = ()
    affected: tuple[int, ...] = ()  # places of the replicas it befalls, if not all
    clock_jumps: tuple[tuple[int, float], ...] = ()  # place, seconds
    accepted: tuple[str, ...] = ()  # what may be called primary instead
    plausible: tuple[str, ...] = ()  # what may be named besides
    events: tuple[tuple[float, str, str], ...] = field(default=())


def joined(parts: tuple[Part, ...]) -> Trouble:
    """All parts at once."""
    troubles = [part.trouble for part in parts]

    def change(asks: list[Ask]) -> list[Ask]:
        for one in troubles:
            asks = one.change(asks)
        return sorted(asks, key=lambda ask: (ask.at, ask.number))

    def delay(ask: Ask, place: int, at: float) -> tuple[float, float]:
        both = [one.delay(ask, place, at) for one in troubles]
        return sum(one for one, _ in both), sum(one for _, one in both)

    actions: list[tuple[float, Callable[[Fleet], None]]] = [one for each in troubles for one in each.actions]
    return Trouble(
        change=change,
        actions=actions,
        delay=delay,
        attempts=max((one.attempts for one in troubles), default=1),
    )


def chance(number: int, salt: int) -> float:
    """A number in [0, 1) that belongs to a request, the same in every run."""
    return (number * 2_654_435_761 + salt * 40_503) % 2**32 / 2**32

"""A hypothesis: one suspicion as data, with what it needs, what refutes it and what supports it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tracemortem.declared import load, parsed
from tracemortem.errors import DefinitionError
from tracemortem.explain.signals import Signal

PLACES = Path(__file__).with_name("places.yaml")
_KNOWN = (
    "kind", "question", "claim", "denial", "place", "needs", "refuted_when", "supported_when",
    "corroborated_when", "consequence_of", "looks_like_but_is_not", "reset", "samples",
)  # fmt: skip
_REQUIRED = ("kind", "question", "claim", "denial", "needs", "supported_when")
_MEASURES = ("value", "before", "ratio", "change")
_BOUNDS = ("at_least", "at_most")


@dataclass(frozen=True)
class Condition:
    """A bound on one measure of one signal."""

    signal: str
    measure: str
    bound: str
    limit: float

    def holds(self, signals: Mapping[str, Signal]) -> bool | None:
        """Whether it holds; None if the measure is not known, and unknown satisfies nothing.

        A test that finds nothing proves nothing: a probability by chance above its limit is unknown too.
        """
        signal = signals.get(self.signal)
        value = None if signal is None else getattr(signal, self.measure)
        if signal is None or value is None:
            return None
        holds = bool(value >= self.limit if self.bound == "at_least" else value <= self.limit)
        return None if signal.is_chance and not holds else holds


@dataclass(frozen=True)
class Place:
    """Where requests lose time to a cause: what shows that none was lost there, and what is said then."""

    refuted_when: tuple[Condition, ...]
    denial: str


@dataclass(frozen=True)
class Hypothesis:
    """One suspicion. See weigh.judge for what the parts mean; reset: what of a replay undoes it."""

    kind: str
    question: str
    claim: str
    denial: str
    needs: tuple[str, ...]
    refuted_when: tuple[Condition, ...]
    supported_when: tuple[Condition, ...]
    corroborated_when: tuple[Condition, ...]
    consequence_of: tuple[str, ...]
    samples: tuple[Mapping[str, Any], ...]
    reset: str | None = None
    place: Place | None = None

    @property
    def cited(self) -> tuple[str, ...]:
        """The names of all signals it turns on, each once, in the order in which they are declared."""
        elsewhere = self.place.refuted_when if self.place else ()
        conditions = (*self.supported_when, *self.corroborated_when, *self.refuted_when, *elsewhere)
        return tuple(dict.fromkeys((*self.needs, *(condition.signal for condition in conditions))))


def read(path: Path, thresholds: Mapping[str, float]) -> Hypothesis:
    """One hypothesis from its YAML file; raises DefinitionError naming file and key.

    thresholds  by name, which a condition may write in place of a number
    """
    raw = load(path, known=_KNOWN, required=_REQUIRED)
    place = raw.get("place")
    if place is not None and place not in places():
        raise DefinitionError(
            f"hypothesis {raw['kind']!r} lies in {place!r}, which nobody declares",
            where=str(path),
            why=f"declared are {', '.join(sorted(places()))}",
            fix=f"correct `place:`, or add it to {PLACES.name}",
        )
    return Hypothesis(
        kind=raw["kind"],
        question=raw["question"],
        claim=" ".join(raw["claim"].split()),
        denial=" ".join(raw["denial"].split()),
        needs=tuple(raw["needs"]),
        refuted_when=_conditions(path, "refuted_when", raw.get("refuted_when") or {}, thresholds),
        supported_when=_conditions(path, "supported_when", raw["supported_when"], thresholds),
        corroborated_when=_conditions(
            path, "corroborated_when", raw.get("corroborated_when") or {}, thresholds
        ),
        consequence_of=tuple(raw.get("consequence_of") or ()),
        samples=tuple(raw.get("samples") or ()),
        reset=raw.get("reset"),
        place=None if place is None else places()[place],
    )


@cache
def places() -> Mapping[str, Place]:
    """The places of places.yaml by name; the limits there are numbers."""
    every = parsed(PLACES)
    return {
        name: Place(_conditions(PLACES, name, entry["refuted_when"], {}), " ".join(entry["denial"].split()))
        for name, entry in every.items()
    }


def read_all(folder: Path, thresholds: Mapping[str, float]) -> tuple[Hypothesis, ...]:
    """Every hypothesis of a folder, by file name; a kind named by consequence_of must be one of them."""
    found = tuple(read(path, thresholds) for path in sorted(folder.glob("*.yaml")))
    kinds = {hypothesis.kind for hypothesis in found}
    for hypothesis in found:
        for cause in hypothesis.consequence_of:
            if cause not in kinds:
                raise DefinitionError(
                    f"hypothesis {hypothesis.kind!r} is a consequence of {cause!r}, which nobody declares",
                    where=str(folder),
                    why=f"declared are {', '.join(sorted(kinds))}",
                    fix="correct consequence_of",
                )
    return found


def _conditions(
    path: Path, key: str, raw: Mapping[str, Any], thresholds: Mapping[str, float]
) -> tuple[Condition, ...]:
    found = []
    for signal, measures in raw.items():
        for measure, bounds in measures.items():
            for bound, written in bounds.items():
                limit = thresholds.get(written) if isinstance(written, str) else written
                if measure not in _MEASURES or bound not in _BOUNDS or not isinstance(limit, (int, float)):
                    raise DefinitionError(
                        f"no condition of {path.stem!r} reads {signal}: {measure}: {bound}: {written}",
                        where=f"{path}, {key}",
                        why=f"measures are {', '.join(_MEASURES)}, bounds {', '.join(_BOUNDS)} and a number "
                        "or the name of a threshold",
                        fix="write for example  cache.hit_ratio: {change: {at_most: -0.1}}",
                    )
                found.append(Condition(signal, measure, bound, float(limit)))
    return tuple(found)

"""How sure a cause is: how often one with such evidence was true of simulated incidents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tracemortem.declared import load
from tracemortem.errors import DefinitionError
from tracemortem.incident import Cause

_VERDICTS = ("established", "likely", "possible")
_BESIDE = ("alone", "beside_others")


@dataclass(frozen=True)
class Confidence:
    """The table. shares: (verdict, whether another primary cause stands beside it) -> 0 to 1."""

    shares: Mapping[tuple[str, bool], float]

    def of(self, causes: Sequence[Cause]) -> tuple[Cause, ...]:
        """The causes with the confidence of each primary one.

        What only contributes has none, as whether it did is not known of the simulated incidents either, and
        the cause `unknown` has none, as it claims nothing.
        """
        primary = [cause for cause in causes if cause.role == "primary"]
        is_beside = len(primary) > 1
        return tuple(
            replace(cause, confidence=self.shares[cause.verdict, is_beside])
            if cause.role == "primary" and cause.kind != "unknown"
            else cause
            for cause in causes
        )


def read(path: Path) -> Confidence:
    """The table of a YAML file; raises DefinitionError where a share is missing or none of 0 to 1."""
    raw = load(path, known=("source", *_VERDICTS), required=("source", *_VERDICTS))
    shares: dict[tuple[str, bool], float] = {}
    for verdict in _VERDICTS:
        for place, word in enumerate(_BESIDE):
            share = raw[verdict].get(word) if isinstance(raw[verdict], dict) else None
            if not isinstance(share, (int, float)) or not 0 <= share <= 1:
                raise DefinitionError(
                    f"the confidence of a cause that is {verdict}, {word}, is {share!r}",
                    where=str(path),
                    why="it is a share of cases, 0 to 1",
                    fix=f"write {verdict}: {{alone: 0.9, beside_others: 0.8}}",
                )
            shares[verdict, place == 1] = float(share)
    return Confidence(shares)

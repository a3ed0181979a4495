"""Which hypotheses stand: the only code that knows how a rule is judged."""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from tracemortem.explain.hypothesis import Condition, Hypothesis
from tracemortem.explain.signals import UNKNOWN, Signal, figure
from tracemortem.incident import Cause, Evidence, NotCause

UNEXPLAINED = "unknown"  # the kind of a real spike that no hypothesis explains
STRENGTH = {"established": 3, "likely": 2, "possible": 1}  # of a verdict that speaks for a cause
_COVERED_ENOUGH = 0.95  # the contract's bound for clearing a suspect
_TRAFFIC = ("traffic.requests_per_s", "traffic.clients", "errors.server_error_ratio", "stages.queue_p99_s")
_CITATION = re.compile(r"\{([a-z_0-9]+\.[a-z_0-9]+)\.(now|before)\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True)
class Judgement:
    """What became of one hypothesis.

    verdict       established, likely, possible (supported); ruled_out, not_supported, not_testable (not)
    met           how many kinds of evidence corroborate it
    missing       signals that were needed and not measured
    is_elsewhere  nothing refutes it but its place: no time was lost there
    """

    hypothesis: Hypothesis
    verdict: str
    met: int
    missing: tuple[str, ...]
    is_elsewhere: bool = False

    @property
    def is_supported(self) -> bool:
        """Whether the evidence speaks for it."""
        return self.verdict in STRENGTH


def judge(hypothesis: Hypothesis, signals: Mapping[str, Signal]) -> Judgement:
    """One hypothesis against the signals of one incident.

    It is refuted when any of refuted_when holds, its own or its place's: ruled out if the signal that refutes
    it covers the window, else not supported. It is supported when all of supported_when hold, the more
    strongly the more kinds of evidence hold of corroborated_when: each condition is one, but the tests of one
    evidence table are one together, as they ask the same of the same requests. It is not testable
    when what it needs was not measured, or what would support it where all else does. Unknown satisfies
    nothing, for or against.
    """
    supporting = {condition: condition.holds(signals) for condition in hypothesis.supported_when}
    needed = [name for name in hypothesis.needs if _is_unknown(name, signals)]
    missing = (*needed, *(condition.signal for condition, holds in supporting.items() if holds is None))
    untestable = Judgement(hypothesis, "not_testable", 0, tuple(dict.fromkeys(missing)))
    if needed:
        return untestable
    own = [condition for condition in hypothesis.refuted_when if condition.holds(signals)]
    place = hypothesis.place.refuted_when if hypothesis.place else ()
    elsewhere = [condition for condition in place if condition.holds(signals)]
    if own or elsewhere:
        covered = any((signals[c.signal].covered or 0.0) >= _COVERED_ENOUGH for c in (*own, *elsewhere))
        return Judgement(hypothesis, "ruled_out" if covered else "not_supported", 0, (), not own)
    if False in supporting.values():
        return Judgement(hypothesis, "not_supported", 0, ())
    if missing:
        return untestable
    met, failed = _count(hypothesis.corroborated_when, signals)
    if met >= 2 and not failed:
        verdict = "established"
    elif met > failed:
        verdict = "likely"
    else:
        verdict = "possible"
    return Judgement(hypothesis, verdict, met, ())


def verdicts(
    hypotheses: Sequence[Hypothesis], signals: Mapping[str, Signal], recorders: Mapping[str, str]
) -> tuple[tuple[Cause, ...], tuple[NotCause, ...]]:
    """The causes, most credible first, and the ledger of everything that is not blamed.

    recorders  evidence table -> the setting or command that would have recorded what it lacks

    A supported hypothesis is contributing if one that it is a consequence of is supported too, else primary.
    """
    judged = [judge(hypothesis, signals) for hypothesis in hypotheses]
    supported = {judgement.hypothesis.kind for judgement in judged if judgement.is_supported}
    causes = [
        (
            judgement,
            "contributing" if supported.intersection(judgement.hypothesis.consequence_of) else "primary",
        )
        for judgement in judged
        if judgement.is_supported
    ]
    causes.sort(key=lambda pair: (pair[1] != "primary", -STRENGTH[pair[0].verdict], -pair[0].met))
    blamed = tuple(
        Cause(
            kind=judgement.hypothesis.kind,
            role=role,
            verdict=judgement.verdict,
            text=told(judgement.hypothesis.claim, signals),
            evidence=_evidence(judgement, signals),
            reset=judgement.hypothesis.reset,
        )
        for judgement, role in causes
    )
    cleared = tuple(
        NotCause(
            kind=judgement.hypothesis.kind,
            verdict=judgement.verdict,
            text=_denial(judgement, signals, recorders),
            evidence=_evidence(judgement, signals),
        )
        for judgement in judged
        if not judgement.is_supported
    )
    return blamed, cleared


def unexplained(cleared: Sequence[NotCause], signals: Mapping[str, Signal]) -> Cause:
    """The cause of a spike that no hypothesis explains, with what could not be tested, and the traffic."""
    untested = sum(entry.verdict == "not_testable" for entry in cleared)
    if untested == len(cleared):
        text = f"none of the {len(cleared)} suspicions could be tested for want of data."
    elif untested:
        text = (
            f"none of the {len(cleared)} suspicions explains it; "
            f"{untested} of them could not be tested for want of data."
        )
    else:
        text = f"none of the {len(cleared)} suspicions explains it, and all of them could be tested."
    return Cause(
        kind=UNEXPLAINED,
        role="primary",
        verdict="possible",
        text=f"The spike is real, but {text}",
        evidence=tuple(signals[name].evidence() for name in _TRAFFIC if not _is_unknown(name, signals)),
    )


def told(text: str, signals: Mapping[str, Signal]) -> str:
    """A sentence with its figures in place: {table.column.now} and {table.column.before}.

    A part in square brackets is left out where a figure in it was not recorded.
    """

    def shown(match: re.Match[str]) -> str:
        signal = signals.get(match[1])
        if signal is None:
            return UNKNOWN
        return figure(signal.value if match[2] == "now" else signal.before, signal.unit)

    def kept(match: re.Match[str]) -> str:
        part = _CITATION.sub(shown, match[1])
        return "" if UNKNOWN in part else part

    return _CITATION.sub(shown, _OPTIONAL.sub(kept, text))


def citations(hypothesis: Hypothesis, names: Container[str]) -> tuple[str, ...]:
    """What a hypothesis cites, in its rules and its sentences, that is none of the signals there are.

    names    every table.column that evidence measures
    """
    texts = [hypothesis.claim, hypothesis.denial, *([hypothesis.place.denial] if hypothesis.place else [])]
    garbled = [part for text in texts for part in re.findall(r"\{[^}]*\}?", _CITATION.sub("", text))]
    told_of = [name for text in texts for name, _ in _CITATION.findall(text)]
    unknown = [name for name in (*hypothesis.cited, *told_of) if name not in names]
    return tuple(dict.fromkeys((*unknown, *garbled)))


def _denial(judgement: Judgement, signals: Mapping[str, Signal], recorders: Mapping[str, str]) -> str:
    place = judgement.hypothesis.place
    if judgement.is_elsewhere and place is not None:
        return told(place.denial, signals)
    if judgement.verdict != "not_testable":
        return told(judgement.hypothesis.denial, signals)
    lacking = "; ".join(_lacking(name, signals) for name in judgement.missing)
    tables = (name.partition(".")[0] for name in judgement.missing)
    cures = dict.fromkeys(recorders[table] for table in tables if table in recorders)
    return " ".join((f"Not recorded: {lacking}.", *cures))


def _lacking(name: str, signals: Mapping[str, Signal]) -> str:
    """What a signal would have told; what its meaning says after a semicolon is for those who query it."""
    if name not in signals:
        return name
    meaning = signals[name].meaning.partition(";")[0]
    return meaning if signals[name].value is None else f"{meaning}, in the time before"


def _evidence(judgement: Judgement, signals: Mapping[str, Signal]) -> tuple[Evidence, ...]:
    return tuple(
        signals[name].evidence()
        for name in judgement.hypothesis.cited
        if name in signals and not _is_unknown(name, signals)
    )


def _is_unknown(name: str, signals: Mapping[str, Signal]) -> bool:
    return name not in signals or signals[name].value is None


def _count(conditions: Sequence[Condition], signals: Mapping[str, Signal]) -> tuple[int, int]:
    """How many kinds of evidence hold, and how many conditions do not."""
    held = [condition for condition in conditions if condition.holds(signals)]
    tests = [condition for condition in held if signals[condition.signal].is_chance]
    tables = {condition.signal.partition(".")[0] for condition in tests}
    failed = sum(condition.holds(signals) is False for condition in conditions)
    return len(held) - len(tests) + len(tables), failed

"""The author knows the cause: it goes before what was measured, which stays in sight."""

from collections.abc import Sequence
from dataclasses import replace

from tracemortem.incident import Annotation, Cause, NotCause


def relabelled(
    causes: Sequence[Cause], not_causes: Sequence[NotCause], annotation: Annotation
) -> tuple[tuple[Cause, ...], tuple[NotCause, ...]]:
    """Causes and ledger with the stated cause as the only primary one.

    returns   both as they were where the annotation states no cause

    What the measurements support beside it becomes contributing. What they say of the stated cause itself is
    told with it, also where they speak against it; a cause by statement has no confidence and no share.
    """
    if annotation.cause is None:
        return tuple(causes), tuple(not_causes)
    same = [cause for cause in causes if cause.kind == annotation.cause]
    against = [entry for entry in not_causes if entry.kind == annotation.cause]
    evidence = next((found.evidence for found in same), next((found.evidence for found in against), ()))
    told = f"Stated {annotation.words}."
    if same:
        told += f" By the measurements alone it is {same[0].verdict}. {same[0].text}"
    elif against:
        told += f" By the measurements alone it is {against[0].verdict.replace('_', ' ')}. {against[0].text}"
    stated = Cause(
        kind=annotation.cause,
        role="primary",
        verdict="established",
        text=told,
        evidence=evidence,
    )
    # a spike whose cause is stated is explained
    rest = [replace(c, role="contributing") for c in causes if c.kind not in {annotation.cause, "unknown"}]
    return (stated, *rest), tuple(entry for entry in not_causes if entry not in against)

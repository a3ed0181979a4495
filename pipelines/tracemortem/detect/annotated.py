"""The author knows better: what is said of spikes goes over what was found."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from tracemortem.detect.given import compared
from tracemortem.detect.watches import Watch
from tracemortem.incident import Annotation, Spike

_STATUS = {"confirmed": "confirmed", "dismissed": "candidate"}


def annotated(
    found: Sequence[Spike], annotations: Sequence[Annotation], requests: pl.DataFrame, watch: Watch
) -> list[Spike]:
    """The spikes with the status that was said, and those that nobody found but somebody knows of.

    requests  columns service, started_at (UTC) and watch.column (s)
    returns   by start and service; what was said of a spike stands in its reason

    An annotation speaks of the spike of its very id, else of those it fits. A window that is confirmed and
    in which none was found is a spike by decree, if it can be compared with anything.
    """
    said: dict[Spike, Annotation] = {}
    decreed: list[Spike] = []
    for annotation in annotations:
        same = [spike for spike in found if spike.incident_id == annotation.said]
        of = same or [s for s in found if annotation.fits(s.service, s.start, s.end) and s not in said]
        said |= dict.fromkeys(of, annotation)
        if not of and annotation.verdict == "confirmed" and annotation.end is not None:
            decreed += _decreed(annotation, found, requests, watch)
    spikes = [_marked(spike, said[spike]) if spike in said else spike for spike in found]
    return sorted((*spikes, *decreed), key=lambda spike: (spike.start, spike.service))


def _decreed(
    annotation: Annotation, found: Sequence[Spike], requests: pl.DataFrame, watch: Watch
) -> Iterator[Spike]:
    """The spike of a window that somebody confirms."""
    assert annotation.end is not None
    own = requests.filter(pl.col("service") == annotation.service)
    spike = compared(own, watch, annotation.start, annotation.end, busy=found)
    if spike is not None:
        yield _marked(spike, annotation)


def _marked(spike: Spike, annotation: Annotation) -> Spike:
    """The spike with the status that was said, and who said so."""
    reason = spike.reason
    if annotation.verdict is not None:
        reason = f"{annotation.verdict} {annotation.words}; {reason}"
    return replace(
        spike,
        status=_STATUS.get(annotation.verdict or "", spike.status),
        reason=reason,
        annotation=annotation.said,
    )

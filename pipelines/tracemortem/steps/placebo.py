"""The quiet stretches that detection set aside, judged by the same evidence and hypotheses as incidents."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import polars as pl

from tracemortem import folders
from tracemortem.explain.hypothesis import Hypothesis
from tracemortem.explain.placebo import placebo
from tracemortem.explain.signals import measured
from tracemortem.explain.weigh import judge
from tracemortem.findings import Placebo
from tracemortem.warehouse.build import build
from tracemortem.warehouse.store import Store

_COLUMNS = ("service", "started_at", "ended_at", "baseline_start")
_SCHEMA = {
    "service": pl.String(), "started_at": pl.Datetime("us", "UTC"), "ended_at": pl.Datetime("us", "UTC"),
    "baseline_start": pl.Datetime("us", "UTC"), "kind": pl.String(), "verdict": pl.String(),
}  # fmt: skip


def tried(
    store: Store,
    values: Mapping[str, float],
    hypotheses: Sequence[Hypothesis],
    notes: Mapping[str, Mapping[str, tuple[str, str]]],
) -> Mapping[str, Placebo]:
    """What each hypothesis says of the quiet stretches, by service; kept in meta.placebo.

    notes    evidence table -> column -> unit and meaning

    Evidence is left measured over the stretches: it is built anew for the incidents after this.
    """
    stretches = store.frame("from raw.quiet order by service, started_at").to_dicts()
    wanted = {name.partition(".")[0] for hypothesis in hypotheses for name in hypothesis.cited}
    frames: dict[str, pl.DataFrame] = {}
    if stretches:
        with _in_place_of_incidents(store):
            build(
                store, folders.folder("sql"), values, ("evidence",), {f"evidence.{table}" for table in wanted}
            )
            frames = {table: store.frame(f"from evidence.{table} order by all") for table in sorted(wanted)}
    rows: list[tuple[object, ...]] = []
    found: dict[str, list[dict[str, str]]] = {}
    lengths: dict[str, float] = {}
    for stretch in stretches:
        shown = measured(frames, notes, stretch["incident_id"])
        verdicts = {hypothesis.kind: judge(hypothesis, shown).verdict for hypothesis in hypotheses}
        service = stretch["service"]
        found.setdefault(service, []).append(verdicts)
        lengths[service] = (stretch["ended_at"] - stretch["started_at"]).total_seconds() / 60
        rows += [(*(stretch[column] for column in _COLUMNS), *one) for one in verdicts.items()]
    store.replace("meta.placebo", [pl.DataFrame(rows, schema=_SCHEMA, orient="row")])
    return {service: placebo(verdicts, lengths[service]) for service, verdicts in found.items()}


@contextmanager
def _in_place_of_incidents(store: Store) -> Iterator[None]:
    """Let evidence be measured over the quiet stretches instead of the incidents."""
    incidents = store.frame("from raw.incident")
    store.replace("raw.incident", [store.frame("from raw.quiet")])
    try:
        yield
    finally:
        store.replace("raw.incident", [incidents])

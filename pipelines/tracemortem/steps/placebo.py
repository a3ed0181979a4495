"""The quiet stretches that detection set aside, judged by the same evidence and hypotheses as incidents."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import polars as pl

from tracemortem import folders
from tracemortem.explain.hypothesis import Hypothesis
from tracemortem.explain.placebo import placebo
from tracemortem.explain.signals import Signal, measured
from tracemortem.explain.weigh import judge
from tracemortem.findings import Placebo
from tracemortem.steps.gathered import gathered
from tracemortem.steps.incident_rows import SIGNALS, spike
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
    stretches = store.frame("from raw.quiet order by service, started_at")
    shown: Mapping[str, Mapping[str, Signal]] = {}
    if not stretches.is_empty():
        shown = _measured(store, values, hypotheses, notes, stretches)
        # adjusting, the costly part, only ever takes a find away: left out where that changes no verdict
        in_doubt = [
            name
            for name, own in shown.items()
            if _judged(hypotheses, own) != _judged(hypotheses, _without_tests(own))
        ]
        if in_doubt:
            doubtful = stretches.filter(pl.col("incident_id").is_in(in_doubt))
            shown = {**shown, **_adjusted(store, values, doubtful, shown)}
    rows: list[tuple[object, ...]] = []
    found: dict[str, list[Mapping[str, str]]] = {}
    lengths: dict[str, float] = {}
    for stretch in stretches.to_dicts():
        verdicts = _judged(hypotheses, shown[stretch["incident_id"]])
        service = stretch["service"]
        found.setdefault(service, []).append(verdicts)
        lengths[service] = (stretch["ended_at"] - stretch["started_at"]).total_seconds() / 60
        rows += [(*(stretch[column] for column in _COLUMNS), *one) for one in verdicts.items()]
    store.replace("meta.placebo", [pl.DataFrame(rows, schema=_SCHEMA, orient="row")])
    return {service: placebo(verdicts, lengths[service]) for service, verdicts in found.items()}


def _measured(
    store: Store,
    values: Mapping[str, float],
    hypotheses: Sequence[Hypothesis],
    notes: Mapping[str, Mapping[str, tuple[str, str]]],
    stretches: pl.DataFrame,
) -> Mapping[str, Mapping[str, Signal]]:
    """The signals that hypotheses turn on, by the stretch's incident_id."""
    wanted = sorted({name.partition(".")[0] for hypothesis in hypotheses for name in hypothesis.cited})
    with _in_place_of_incidents(store, stretches):
        _build(store, values, *wanted)
        frames = {table: store.frame(f"from evidence.{table} order by all") for table in wanted}
    return {name: measured(frames, notes, name) for name in stretches["incident_id"]}


def _adjusted(
    store: Store,
    values: Mapping[str, float],
    stretches: pl.DataFrame,
    shown: Mapping[str, Mapping[str, Signal]],
) -> Mapping[str, Mapping[str, Signal]]:
    """The signals of these stretches with chance adjusted over all that is tested of a confirmed incident."""
    found: dict[str, Mapping[str, Signal]] = {}
    with _in_place_of_incidents(store, stretches):
        _build(store, values, "segment", "source")
        for row in stretches.to_dicts():
            name, of_minutes = row["incident_id"], store.frame(SIGNALS, {"service": row["service"]})
            # something rose in each incident that is confirmed, so that its requests are looked at as well
            like = replace(spike(row), has_risen=True)
            every = gathered(store, name, like, of_minutes, shown[name], values["false_discovery_rate"])
            found[name] = every.family.signals
    return found


def _judged(hypotheses: Sequence[Hypothesis], shown: Mapping[str, Signal]) -> Mapping[str, str]:
    return {hypothesis.kind: judge(hypothesis, shown).verdict for hypothesis in hypotheses}


def _without_tests(shown: Mapping[str, Signal]) -> Mapping[str, Signal]:
    return {name: replace(one, value=None) if one.is_chance else one for name, one in shown.items()}


def _build(store: Store, values: Mapping[str, float], *tables: str) -> None:
    build(store, folders.folder("sql"), values, ("evidence",), {f"evidence.{table}" for table in tables})


@contextmanager
def _in_place_of_incidents(store: Store, stretches: pl.DataFrame) -> Iterator[None]:
    """Let evidence be measured over quiet stretches instead of the incidents."""
    incidents = store.frame("from raw.incident")
    store.replace("raw.incident", [stretches])
    try:
        yield
    finally:
        store.replace("raw.incident", [incidents])

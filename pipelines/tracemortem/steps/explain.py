"""Step 4: incidents and evidence into a diagnosis."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from tracemortem import declared, folders
from tracemortem.errors import DefinitionError
from tracemortem.explain.aftermath import mitigations, timeline
from tracemortem.explain.alerts import Rule, alerts, read_rules
from tracemortem.explain.confidence import Confidence
from tracemortem.explain.confidence import read as read_confidence
from tracemortem.explain.hypothesis import Hypothesis, read_all
from tracemortem.explain.movements import movements
from tracemortem.explain.placebo import doubted, placebo
from tracemortem.explain.ranges import sources
from tracemortem.explain.relabel import relabelled
from tracemortem.explain.segments import segments
from tracemortem.explain.signals import Signal, figures, measured
from tracemortem.explain.split import split
from tracemortem.explain.weigh import citations, unexplained, verdicts
from tracemortem.findings import Placebo
from tracemortem.incident import Annotation, Diagnosis, Impact, Incident, InputFile, QualityCheck
from tracemortem.progress import stage
from tracemortem.settings import Settings, day_bounds
from tracemortem.steps import incident_rows as rows
from tracemortem.steps import opened
from tracemortem.steps.annotations import kept, unmatched
from tracemortem.steps.diagnosis import keep, touches
from tracemortem.steps.gathered import gathered
from tracemortem.steps.long_prompts import long_from_tokens
from tracemortem.steps.placebo import tried
from tracemortem.warehouse import check, header
from tracemortem.warehouse.build import build
from tracemortem.warehouse.store import Store

# The evidence tables with one row an incident, whose columns are signals that hypotheses cite.
SIGNAL_TABLES = (
    "long_context", "dose", "traffic", "outputs", "stages", "pace", "errors", "cache", "engine",
    "memory_bandwidth", "gpu_clock", "gpu_fault", "replicas", "clocks", "mix", "control", "usual",
)  # fmt: skip
_PARAMETER = re.compile(r"\$(\w+)")


def explain(settings: Settings) -> int:
    """Gather evidence, weigh it, keep the diagnosis in meta.diagnosis; returns how many are confirmed."""
    values = opened.values(settings)
    with opened.store(settings) as store, stage("explanation"):
        notes = {table: meanings(table, values) for table in SIGNAL_TABLES}
        hypotheses = suspicions(notes, values)
        placebos = tried(store, values, hypotheses, notes)
        build(store, folders.folder("sql"), values, ("evidence",))
        said = kept(store)
        incidents = tuple(_incidents(store, values, said, hypotheses, notes, placebos))
        diagnosis = Diagnosis(
            *_window(store),
            timezone=settings.timezone,
            inputs=tuple(inputs(store)),
            quality=(*_quality(store, values), *unmatched(_spoken(said, settings), incidents)),
            incidents=incidents,
        )
        keep(store, diagnosis)
    return sum(incident.status == "confirmed" for incident in incidents)


def _spoken(said: Sequence[Annotation], settings: Settings) -> Iterator[Annotation]:
    """The annotations that a report must answer to: all, or of a day those that touch it."""
    for one in said:
        end = one.end or one.start + timedelta.resolution
        if settings.day is None or touches(one.start, end, *day_bounds(settings.day)):
            yield one


def meanings(table: str, values: Mapping[str, float]) -> Mapping[str, tuple[str, str]]:
    """Column -> unit and meaning, as the header of the evidence model says, with its $names filled in."""
    about = header.read_table(folders.folder("sql") / "evidence" / f"{table}.sql")
    return {
        column.name: (column.unit, _PARAMETER.sub(lambda name: f"{values[name[1]]:,g}", column.meaning))
        for column in about.columns
    }


def suspicions(
    notes: Mapping[str, Mapping[str, object]], values: Mapping[str, float]
) -> tuple[Hypothesis, ...]:
    """Every hypothesis that ships.

    notes    evidence table -> its columns
    values   thresholds by name
    raises   DefinitionError for a faulty one, and for one that cites what no evidence table has
    """
    folder = folders.definitions("explain", "hypotheses")
    hypotheses = read_all(folder, values)
    names = {f"{table}.{column}" for table, columns in notes.items() for column in figures(columns)}
    for hypothesis in hypotheses:
        for name in citations(hypothesis, names):
            raise DefinitionError(
                f"hypothesis {hypothesis.kind!r} cites {name}, which nobody measures",
                where=str(folder / f"{hypothesis.kind}.yaml"),
                why=f"evidence tables are {', '.join(SIGNAL_TABLES)}, each with the columns of its header",
                fix="correct the name, or measure it in sql/evidence/",
            )
    return hypotheses


def _incidents(
    store: Store,
    values: Mapping[str, float],
    annotations: Sequence[Annotation],
    hypotheses: Sequence[Hypothesis],
    notes: Mapping[str, Mapping[str, tuple[str, str]]],
    placebos: Mapping[str, Placebo],
) -> Iterator[Incident]:
    recorders: Mapping[str, str] = declared.parsed(folders.definitions("explain", "recorders.yaml"))
    frames = {table: store.frame(f"from evidence.{table} order by all") for table in SIGNAL_TABLES}
    said = {annotation.said: annotation for annotation in annotations}
    rules = read_rules(folders.definitions("explain", "rules.yaml"))
    sure = read_confidence(folders.definitions("explain", "confidence.yaml"))
    for row in store.frame("from raw.incident order by started_at, incident_id").to_dicts():
        measures = measured(frames, notes, row["incident_id"])
        own = said.get(row["annotation"])
        beside = placebos.get(row["service"], placebo((), None)) if row["status"] == "confirmed" else None
        yield _incident(store, row, measures, hypotheses, recorders, rules, sure, values, own, beside)


def _incident(
    store: Store,
    row: Mapping[str, Any],
    measures: Mapping[str, Signal],
    hypotheses: Sequence[Hypothesis],
    recorders: Mapping[str, str],
    rules: Sequence[Rule],
    sure: Confidence,
    values: Mapping[str, float],
    annotation: Annotation | None,
    beside: Placebo | None,
) -> Incident:
    own = {"id": row["incident_id"]}
    spike = rows.spike(row)
    impact = store.frame("from evidence.impact where incident_id = $id", own).to_dicts()[0]
    recovery = store.frame("from evidence.recovery where incident_id = $id order by all", own)
    worst = store.frame(rows.WORST_MINUTE, own).to_dicts()
    peak = worst[0] if worst else {"minute": None, "p99_s": None}
    of_minutes = store.frame(rows.SIGNALS, {"service": spike.service})
    found = gathered(store, row["incident_id"], spike, of_minutes, measures, values["false_discovery_rate"])
    looked, networks = found.family, found.networks
    lasted = (spike.end or row["recording_end"]) - spike.start
    minutes = max(1.0, lasted.total_seconds() / 60)  # a request belongs to a whole minute
    causes, not_causes = verdicts(hypotheses, looked.signals, recorders)
    causes = sure.of(causes)
    if beside is not None:
        causes = doubted(causes, beside, values)
    if not causes and spike.has_risen:
        causes = (unexplained(not_causes, looked.signals),)
    if annotation is not None:
        causes, not_causes = relabelled(causes, not_causes, annotation)
    is_said = annotation is not None and annotation.verdict is not None
    is_artifact = bool(causes) and causes[0].kind == "clock_skew_artifact" and not is_said
    [skew_s] = store.frame(rows.SKEW, {"service": spike.service}).row(0)
    return Incident(
        id=row["incident_id"],
        service=spike.service,
        status="candidate" if is_artifact else spike.status,
        start=spike.start,
        end=spike.end,
        onset_earliest=spike.onset_earliest,
        onset_latest=spike.onset_latest,
        metric=spike.metric,
        baseline=impact["baseline_s"],
        peak=impact["peak_s"],
        peak_minute=peak["minute"],
        baseline_from=spike.baseline_from,
        reason=spike.reason,
        impact=Impact(
            requests=impact["requests"],
            requests_slowed=impact["requests_slowed"],
            clients=impact["clients"],
            excess_seconds=impact["excess_seconds"],
            errors=impact["errors"],
        ),
        causes=causes,
        not_causes=not_causes,
        sources=sources(networks, looked.ranges, causes, values, minutes) if networks is not None else (),
        timeline=timeline(
            spike,
            peak["minute"],
            peak["p99_s"],
            recovery,
            store.frame(rows.EARLIER, {**own, "lead_minutes": values["lead_minutes"]}),
            is_given=spike.is_given,
        ),
        mitigation=mitigations(
            recovery,
            store.frame("from evidence.named_replica where incident_id = $id order by all", own),
            spike,
            impact["baseline_s"],
            impact["peak_s"],
            row["recording_end"],
            values,
        ),
        decomposition=split(store.frame(rows.LENGTHS, own), values) if spike.has_risen else None,
        placebo=beside,
        segments=segments(found.segments, looked.segments, values),
        tests=looked.tests,
        annotation=annotation,
        movements=movements(found.moves, looked.moves, spike, skew_s, values),
        alerts=alerts(
            rules,
            of_minutes,
            spike,
            store.frame(rows.BUSY, own).rows(),
            values,
            long_from_tokens(store, spike.service, values),
        ),
    )


def _window(store: Store) -> tuple[datetime | None, datetime | None]:
    """First and last instant of anything that was read."""
    first, last = store.frame("select min(first_at), max(last_at) from meta.input").row(0)
    return first, last


def inputs(store: Store) -> Iterator[InputFile]:
    """Every file that was offered, by path."""
    rows = store.frame(
        "select path, sha256, bytes, kind, format, rows, rejects, first_at, last_at "
        "from meta.input order by path, sha256"
    )
    for row in rows.to_dicts():
        yield InputFile(**row)


def _quality(store: Store, values: Mapping[str, float]) -> Iterator[QualityCheck]:
    for checked in check.run(store, folders.folder("sql"), values):
        found = "" if checked.status == "ok" else f" Found {checked.rows}, first: {checked.first}."
        yield QualityCheck(
            check=checked.name, status=checked.status, text=checked.about + found, limits=checked.limits
        )

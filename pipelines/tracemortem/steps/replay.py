"""Step 5: the recorded requests once more, with one factor after another as it was before."""

from collections.abc import Mapping
from dataclasses import replace as changed

import numpy as np
import polars as pl

from tracemortem.explain.aftermath import without_change
from tracemortem.explain.undoing import reweighed, with_shares
from tracemortem.findings import Replay
from tracemortem.incident import Incident
from tracemortem.progress import stage
from tracemortem.replay.course import course
from tracemortem.replay.memory import Capacity
from tracemortem.replay.prefixes import hits
from tracemortem.replay.recorded import Floats
from tracemortem.replay.resets import RESETS
from tracemortem.replay.shares import QUANTILE, fit, joint, shares, verdict
from tracemortem.replay.unchanged import unchanged
from tracemortem.settings import Settings
from tracemortem.steps import opened
from tracemortem.steps.diagnosis import keep, kept
from tracemortem.steps.long_prompts import long_from_tokens
from tracemortem.steps.world import Missing, Rebuilt, afterwards, rebuilt
from tracemortem.warehouse.store import Store


def replay(settings: Settings) -> int:
    """Replay every incident of meta.diagnosis, and say what share of the rise its causes have.

    Returns how many could be quantified. An incident whose replay does not agree with what was recorded keeps
    its causes as the evidence ranks them.
    """
    values = opened.values(settings)
    with opened.store(settings) as store, stage("replay") as told:
        diagnosis = kept(store)
        pairs = [_replayed(store, incident, values) for incident in diagnosis.incidents]
        incidents = tuple(incident for incident, _ in pairs)
        keep(store, changed(diagnosis, incidents=incidents))
        store.replace("meta.replay_minute", [rows for _, rows in pairs])
        told.advance(0, sum(incident.replay is not None for incident in incidents))
    return sum(one.replay is not None and one.replay.status == "quantified" for one in incidents)


_COURSE: dict[str, pl.DataType | type[pl.DataType]] = {
    "incident_id": pl.String, "minute": pl.Datetime("us", "UTC"), "requests": pl.Int64,
    "recorded_p99_s": pl.Float64, "replayed_p99_s": pl.Float64, "unchanged_p99_s": pl.Float64,
}  # fmt: skip


def _replayed(store: Store, incident: Incident, values: Mapping[str, float]) -> tuple[Incident, pl.DataFrame]:
    """The incident with its replay, and the rows of meta.replay_minute."""
    nothing = pl.DataFrame(schema=_COURSE)
    if incident.status != "confirmed" or not incident.causes:
        return incident, nothing
    found = rebuilt(store, incident, values)
    if isinstance(found, Missing):
        return changed(incident, replay=_not_available(found.why, found.coverage)), nothing
    total_s = found.world.total_s()
    long_tokens = long_from_tokens(store, incident.service, values)
    explained = _explained(incident, found, total_s, values, long_tokens)
    explained, later = _mended(store, explained, found, total_s, values)
    minutes = [course(found.world.made, total_s, found.origin_s), *later]
    rows = pl.concat([nothing, *minutes], how="diagonal").with_columns(incident_id=pl.lit(incident.id))
    return explained, rows


def _mended(
    store: Store, incident: Incident, found: Rebuilt, total_s: Floats, values: Mapping[str, float]
) -> tuple[Incident, list[pl.DataFrame]]:
    """The incident with what who came after it would have met had nobody mended it, and that by minute."""
    is_quantified = incident.replay is not None and incident.replay.status == "quantified"
    if not is_quantified or not incident.mitigation or incident.baseline is None:
        return incident, []
    later = afterwards(store, incident, found, values)
    if later is None:
        return incident, []
    made, is_after = later
    engines_s = unchanged(found.world, made, keeps_cache=True)[is_after]
    cache_too_s = unchanged(found.world, made, keeps_cache=False)[is_after]
    facts = without_change(
        float(np.nanquantile(engines_s, QUANTILE)),
        float(np.nanquantile(cache_too_s, QUANTILE)),
        float(np.quantile(made.total[is_after], QUANTILE)),
        usual_s=values["recovered_ratio"] * incident.baseline,
        error=abs(fit(found.world, total_s).error),
    )
    mitigation = tuple(changed(one, evidence=(*one.evidence, *facts)) for one in incident.mitigation)
    minutes = course(made.only(is_after), engines_s, found.origin_s)
    return changed(incident, mitigation=mitigation), [minutes.rename({"replayed_p99_s": "unchanged_p99_s"})]


def _explained(
    incident: Incident, found: Rebuilt, total_s: Floats, values: Mapping[str, float], long_tokens: float
) -> Incident:
    world, limits = found.world, found.world.model.limits
    agreement = fit(world, total_s)
    status, text = verdict(agreement, values)
    if found.inferred is not None:
        text += f" {_sized(found.inferred)}"
    replayed = Replay(
        status=status,
        text=text,
        coverage=found.coverage,
        is_cache_told=found.cache_from == "recorded",
        before_recorded_s=agreement.before_recorded_s,
        before_replayed_s=agreement.before_replayed_s,
        during_recorded_s=agreement.during_recorded_s,
        during_replayed_s=agreement.during_replayed_s,
        law=tuple(world.model.law.tolist()),
        slowest=float(world.model.slowness.max()),
        step_tokens=limits.budget,
        running=limits.running,
        kv_blocks=limits.blocks if found.is_size_told else None,
        block_tokens=limits.block,
        kv_tokens=None if found.inferred is None else (found.inferred.low, found.inferred.high),
        cache_from=found.cache_from,
        cache_blocks=None if world.prefixes is None else world.prefixes.cache_blocks,
        hits=None if world.prefixes is None else hits(world.prefixes, world.made),
    )
    if status == "not_available":
        return changed(incident, replay=replayed)
    resets = shares(world, total_s, tuple(RESETS), long_tokens)
    causes = reweighed(incident.causes, resets, values, is_quantified=status == "quantified")
    if status == "quantified":
        names = list(dict.fromkeys(one.reset for one in causes if one.role == "primary" and one.reset))
        together = {name: resets[name].share for name in names}
        if len(names) > 1:
            together = dict(joint(world, total_s, names, long_tokens))
        causes = with_shares(causes, resets, together)
    return changed(incident, causes=causes, replay=changed(replayed, resets=tuple(resets.values())))


def _sized(inferred: Capacity) -> str:
    between = f"{inferred.tokens:,.0f} tokens ({inferred.low:,.0f} to {inferred.high:,.0f})"
    return f"The size of an engine's KV cache is not recorded; from its use it is {between}."


def _not_available(why: str, coverage: float) -> Replay:
    return Replay("not_available", f"Not available: {why}.", coverage)

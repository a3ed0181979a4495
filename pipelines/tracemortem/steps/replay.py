"""Step 5: the recorded requests once more, with one factor after another as it was before."""

from collections.abc import Mapping
from dataclasses import replace as changed

import polars as pl

from tracemortem.explain.undoing import reweighed, with_shares
from tracemortem.findings import Replay
from tracemortem.incident import Incident
from tracemortem.progress import stage
from tracemortem.replay.model import Limits, calibrated
from tracemortem.replay.recorded import NUMBER, Requests, requests, with_inferred_cache
from tracemortem.replay.resets import RESETS, World
from tracemortem.replay.shares import fit, joint, shares, verdict
from tracemortem.settings import Settings
from tracemortem.steps import opened
from tracemortem.steps.diagnosis import keep, kept
from tracemortem.warehouse.store import Store

_PLENTY = 1 << 40  # blocks of an engine that never was short of them


def replay(settings: Settings) -> int:
    """Replay every incident of meta.diagnosis, and say what share of the rise its causes have.

    Returns how many could be quantified. An incident whose replay does not agree with what was recorded keeps
    its causes as the evidence ranks them.
    """
    values = opened.values(settings)
    with opened.store(settings) as store, stage("replay") as told:
        diagnosis = kept(store)
        incidents = tuple(_replayed(store, incident, values) for incident in diagnosis.incidents)
        keep(store, changed(diagnosis, incidents=incidents))
        told.advance(0, sum(incident.replay is not None for incident in incidents))
    return sum(one.replay is not None and one.replay.status == "quantified" for one in incidents)


def _replayed(store: Store, incident: Incident, values: Mapping[str, float]) -> Incident:
    if incident.status != "confirmed" or not incident.causes:
        return incident
    frame = store.frame(_REQUESTS, {"id": incident.id})
    known = frame.filter(pl.col("is_known"))
    of_interest = frame.filter(pl.col("phase").is_not_null())
    coverage = float(of_interest["is_known"].mean() or 0.0)  # type: ignore[arg-type]
    if coverage < values["replay_covered_share"]:
        lacking = f"{100 * (1 - coverage):.0f} %"
        why = f"of {lacking} of the requests replica, token counts or stage times are not recorded"
        return changed(incident, replay=_not_available(why, coverage))
    limits = _limits(store, incident, values)
    if limits is None:
        why = "the KV cache was full, and its size is not recorded (set replay_kv_blocks)"
        return changed(incident, replay=_not_available(why, coverage))
    made = requests(known)
    is_told = known["cached_tokens"].null_count() == 0
    if not is_told:
        found = _with_cache(store, made, known, limits)
        if found is None:
            why = "neither cached tokens by request nor prefix-cache counters are recorded"
            return changed(incident, replay=_not_available(why, coverage))
        made = found
    model = calibrated(made, limits)
    world = World(model, made, made.rest)
    total_s = world.total_s()
    agreement = fit(world, total_s)
    status, text = verdict(agreement, values)
    replayed = Replay(
        status=status,
        text=text,
        coverage=coverage,
        is_cache_told=is_told,
        before_recorded_s=agreement.before_recorded_s,
        before_replayed_s=agreement.before_replayed_s,
        during_recorded_s=agreement.during_recorded_s,
        during_replayed_s=agreement.during_replayed_s,
        law=tuple(model.law.tolist()),
        slowest=float(model.slowness.max()),
    )
    if status == "not_available":
        return changed(incident, replay=replayed)
    resets = shares(world, total_s, tuple(RESETS), values["long_context_tokens"])
    causes = reweighed(incident.causes, resets, values, is_quantified=status == "quantified")
    if status == "quantified":
        names = list(dict.fromkeys(one.reset for one in causes if one.role == "primary" and one.reset))
        together = {name: resets[name].share for name in names}
        if len(names) > 1:
            together = dict(joint(world, total_s, names, values["long_context_tokens"]))
        causes = with_shares(causes, resets, together)
    return changed(incident, causes=causes, replay=changed(replayed, resets=tuple(resets.values())))


def _not_available(why: str, coverage: float) -> Replay:
    return Replay("not_available", f"Not available: {why}.", coverage)


def _limits(store: Store, incident: Incident, values: Mapping[str, float]) -> Limits | None:
    """None if the engines ran short of KV memory and nobody says how much they have."""
    row = store.frame(_LIMITS, {"service": incident.service}).row(0, named=True)
    blocks = values["replay_kv_blocks"] or row["blocks"]
    if not blocks and (row["fullest"] is None or row["fullest"] < values["replay_full_ratio"]):
        blocks = _PLENTY
    if not blocks:
        return None
    return Limits(
        budget=int(values["replay_step_tokens"]),
        running=int(values["replay_running_requests"]),
        blocks=int(blocks),
        block=int(row["block"] or values["replay_block_tokens"]),
    )


def _with_cache(store: Store, made: Requests, known: pl.DataFrame, limits: Limits) -> Requests | None:
    counted = store.frame(_COMPUTED, {"origin_s": float(known["origin_s"][0])})
    numbers = known.select("replica", number=NUMBER).unique()
    counted = counted.join(numbers, on="replica").sort("number", "minute")
    if counted.is_empty():
        return None
    counted = counted.select("minute", "tokens", replica="number")
    return with_inferred_cache(made, counted, limits.block)


# From the beginning of the baseline or, where that is another day's, from ten minutes before the incident:
# what runs then is load on what comes. Times count from a whole minute.
_REQUESTS = """
    with incident as (
        select *, epoch(date_trunc('minute', baseline_start)) - 600 as origin_s
        from raw.incident
        where incident_id = $id
    )

    select
        incident.origin_s,
        request.replica,
        epoch(request.started_at) - incident.origin_s as started_s,
        epoch(request.started_at) - incident.origin_s + coalesce(request.engine_lag_s, 0) as arrival_s,
        coalesce(request.engine_front_s, 0) as front_s,
        request.queue_s,
        request.ttft_s,
        request.engine_s,
        request.duration_s,
        request.prompt_tokens,
        request.cached_tokens,
        request.output_tokens,
        case
            when not request.counts_for_latency then null
            when
                request.started_at >= incident.baseline_start and request.started_at < incident.baseline_end
                then 'baseline'
            when
                request.started_at >= incident.started_at
                and request.started_at < coalesce(incident.ended_at, incident.recording_end)
                then 'during'
        end as phase,
        coalesce(
            request.has_engine_span
            and request.replica is not null
            and request.queue_s >= 0
            and request.ttft_s >= request.queue_s
            and request.engine_s >= request.ttft_s
            and request.duration_s is not null
            and request.prompt_tokens > 0
            and request.output_tokens > 0,
            false
        ) as is_known
    from norm.request
    inner join incident on request.service = incident.service
    where
        not request.is_probe
        and request.started_at < coalesce(incident.ended_at, incident.recording_end)
        and request.started_at >= incident.baseline_start - interval 10 minute
        and (
            request.started_at < incident.baseline_end
            or request.started_at >= incident.started_at - interval 10 minute
            or incident.started_at < incident.baseline_end + interval 2 hour
        )
    order by request.started_at, request.request_key
"""
_LIMITS = """
    select
        min(sample.gpu_blocks) as blocks,
        min(sample.block_size_tokens) as block,
        max(sample.kv_cache_usage_ratio) as fullest
    from norm.engine_sample as sample
    inner join (select distinct replica from norm.request where service = $service) as own
        on sample.replica = own.replica
"""
_COMPUTED = """
    select
        replica,
        cast((epoch(minute) - $origin_s) / 60 as bigint) as minute,
        computed_tokens_per_s * 60 as tokens
    from mart.engine_minute
    where computed_tokens_per_s is not null
    order by replica, minute
"""

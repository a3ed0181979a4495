"""An incident's engines and requests once more, from the tables of a work file or of a published one."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from tracemortem.incident import Incident
from tracemortem.replay.model import Limits, calibrated
from tracemortem.replay.recorded import NUMBER, Requests, requests, with_inferred_cache
from tracemortem.replay.resets import World
from tracemortem.steps.asked import Asked

_PLENTY = 1 << 40  # blocks of an engine that never was short of them


@dataclass(frozen=True)
class Rebuilt:
    """What was recorded, ready to be replayed.

    clients        addresses by their number in Requests.client
    origin_s       seconds since 1970 at which the requests' times begin, a whole minute
    coverage       share of the requests of baseline and incident of which all that a replay needs is known
    is_cache_told  whether cached tokens were recorded; else they are inferred
    is_size_told   whether the number of KV blocks is known; else there are as many as it takes
    """

    world: World
    clients: tuple[str, ...]
    origin_s: float
    coverage: float
    is_cache_told: bool
    is_size_told: bool


@dataclass(frozen=True)
class Missing:
    """Why there is nothing to replay."""

    why: str
    coverage: float


def rebuilt(asked: Asked, incident: Incident, values: Mapping[str, float]) -> Rebuilt | Missing:
    """The engines, calibrated, and the requests that came; or what is missing for that.

    values   numbers of thresholds.yaml by name
    """
    frame = asked.frame(_REQUESTS, {"id": incident.id})
    known = frame.filter(pl.col("is_known"))
    of_interest = frame.filter(pl.col("phase").is_not_null())
    coverage = float(of_interest["is_known"].mean() or 0.0)  # type: ignore[arg-type]
    if coverage < values["replay_covered_share"]:
        lacking = f"{100 * (1 - coverage):.0f} %"
        why = f"of {lacking} of the requests replica, token counts or stage times are not recorded"
        return Missing(why, coverage)
    limits = _limits(asked, incident, values)
    if limits is None:
        why = "the KV cache was full, and its size is not recorded (set replay_kv_blocks)"
        return Missing(why, coverage)
    made = requests(known)
    is_told = known["cached_tokens"].null_count() == 0
    if not is_told:
        found = _with_cache(asked, made, known, limits)
        if found is None:
            why = "neither cached tokens by request nor prefix-cache counters are recorded"
            return Missing(why, coverage)
        made = found
    world = World(calibrated(made, limits), made, made.rest)
    clients = tuple(known["client_ip"].drop_nulls().unique().sort())
    return Rebuilt(world, clients, float(known["origin_s"][0]), coverage, is_told, limits.blocks != _PLENTY)


def _limits(asked: Asked, incident: Incident, values: Mapping[str, float]) -> Limits | None:
    """None if the engines ran short of KV memory and nobody says how much they have."""
    row = asked.frame(_LIMITS, {"service": incident.service}).row(0, named=True)
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


def _with_cache(asked: Asked, made: Requests, known: pl.DataFrame, limits: Limits) -> Requests | None:
    counted = asked.frame(_COMPUTED, {"origin_s": float(known["origin_s"][0])})
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
        select
            baseline.service,
            baseline.from_at as baseline_start,
            baseline.to_at as baseline_end,
            during.from_at as started_at,
            during.to_at as ended_at,
            epoch(date_trunc('minute', baseline.from_at)) - 600 as origin_s
        from evidence.phase as baseline
        inner join evidence.phase as during
            on baseline.incident_id = during.incident_id and during.phase = 'during'
        where baseline.incident_id = $id and baseline.phase = 'baseline'
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
        request.client_ip,
        case
            when not request.counts_for_latency then null
            when
                request.started_at >= incident.baseline_start and request.started_at < incident.baseline_end
                then 'baseline'
            when
                request.started_at >= incident.started_at
                and request.started_at < incident.ended_at
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
        and request.started_at < incident.ended_at
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

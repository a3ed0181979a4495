"""An incident's engines and requests once more, from the tables of a work file or of a published one."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tracemortem.incident import Incident
from tracemortem.replay.memory import Capacity, capacity
from tracemortem.replay.model import Limits, calibrated
from tracemortem.replay.prefixes import Prompts, prefixes, prompts
from tracemortem.replay.recorded import NUMBER, Bools, Requests, by_arrival, requests, with_inferred_cache
from tracemortem.replay.resets import World
from tracemortem.steps.asked import Asked

_PLENTY = 1 << 40  # blocks of an engine that never was short of them


@dataclass(frozen=True)
class Rebuilt:
    """What was recorded, ready to be replayed.

    clients        addresses by their number in Requests.client
    replicas       names by their number in Requests.replica
    origin_s       seconds since 1970 at which the requests' times begin, a whole minute
    coverage       share of the requests of baseline and incident of which all that a replay needs is known
    cache_from     recorded (cached tokens by request), blocks (what a cache of the engines' size finds, by
                   the hashes of prompts' blocks) or prefills (inferred from their times)
    is_size_told   whether the number of KV blocks is known; else there are as many as it takes
    inferred       the size of the KV memory, where it is told from its use; None: recorded, or not needed
    """

    world: World
    clients: tuple[str, ...]
    replicas: tuple[str, ...]
    origin_s: float
    coverage: float
    cache_from: str
    is_size_told: bool
    inferred: Capacity | None


@dataclass(frozen=True)
class Missing:
    """Why there is nothing to replay."""

    why: str
    coverage: float


def rebuilt(asked: Asked, incident: Incident, values: Mapping[str, float]) -> Rebuilt | Missing:
    """The engines, calibrated, and the requests that came; or what is missing for that.

    values   numbers of thresholds.yaml by name
    """
    frame = asked.frame(_REQUESTS, {"id": incident.id, "goes_on": False})
    known = by_arrival(frame.filter(pl.col("is_known")))
    of_interest = frame.filter(pl.col("phase").is_not_null())
    coverage = float(of_interest["is_known"].mean() or 0.0)  # type: ignore[arg-type]
    if coverage < values["replay_covered_share"]:
        lacking = f"{100 * (1 - coverage):.0f} %"
        why = f"of {lacking} of the requests replica, token counts or stage times are not recorded"
        return Missing(why, coverage)
    engine = asked.frame(_LIMITS, {"service": incident.service}).row(0, named=True)
    block = int(engine["block"] or values["replay_block_tokens"])
    blocks = int(values["replay_kv_blocks"] or engine["blocks"] or 0)
    made, cache_from = requests(known), "recorded"
    asked_for = _prompts(known)
    if known["cached_tokens"].null_count():
        by_hash = asked_for is not None and blocks
        found = None if by_hash else _with_cache(asked, made, known, block)
        if not by_hash and found is None:
            why = "neither cached tokens by request nor prefix-cache counters are recorded"
            return Missing(why, coverage)
        made, cache_from = found or made, "blocks" if by_hash else "prefills"
    inferred = None
    if not blocks and (engine["fullest"] or 0) >= values["replay_full_ratio"]:
        inferred = _capacity(asked, incident, made, known, values)
        wide = values["replay_quantified_error"]
        if inferred is None or inferred.high - inferred.low > 2 * wide * inferred.tokens:
            return Missing(_unsized(inferred), coverage)
        blocks = int(inferred.tokens // block)
    limits = Limits(
        budget=int(values["replay_step_tokens"]),
        running=int(values["replay_running_requests"]),
        blocks=blocks or _PLENTY,
        block=block,
    )
    same = None
    if asked_for is not None and blocks:
        same = prefixes(asked_for, made, blocks * block // asked_for.size_tokens)
        if cache_from == "blocks":
            made = replace(made, cached=same.found)
    world = World(calibrated(made, limits), made, made.rest, same)
    clients = tuple(known["client_ip"].drop_nulls().unique().sort())
    replicas = tuple(known["replica"].unique().sort())
    origin_s = float(known["origin_s"][0])
    return Rebuilt(world, clients, replicas, origin_s, coverage, cache_from, bool(blocks), inferred)


def afterwards(
    asked: Asked, incident: Incident, found: Rebuilt, values: Mapping[str, float]
) -> tuple[Requests, Bools] | None:
    """The requests of the incident and of the minutes watched after it, and which are those of these minutes.

    returns   times and replicas as in `found`, replicas that are new with the numbers that follow; None where
              none came, where too little is known of them, or what a cache of its own would have held
    """
    if found.cache_from == "blocks":
        return None
    frame = asked.frame(_REQUESTS, {"id": incident.id, "goes_on": True})
    frame = frame.filter(
        pl.col("started_s") >= float(found.world.made.started[found.world.made.is_during].min())
    )
    known, of_interest = (
        by_arrival(frame.filter(pl.col("is_known"))),
        frame.filter(pl.col("phase") == "after"),
    )
    covered = float(of_interest["is_known"].mean() or 0.0)  # type: ignore[arg-type]
    if covered < values["replay_covered_share"]:
        return None
    made: Requests | None = requests(known)
    if made is not None and known["cached_tokens"].null_count():
        made = _with_cache(asked, made, known, found.world.model.limits.block)
    if made is None:
        return None
    there = known["replica"].unique().sort().to_list()
    names = [*found.replicas, *(name for name in there if name not in found.replicas)]
    number = np.array([names.index(name) for name in there])
    return replace(made, replica=number[made.replica]), (known["phase"] == "after").fill_null(
        value=False
    ).to_numpy()


def _prompts(known: pl.DataFrame) -> Prompts | None:
    """None unless the blocks of every prompt are known, all of one size."""
    sizes = known["block_size_tokens"].unique()
    if known["block_hashes"].null_count() or len(sizes) != 1 or not sizes[0]:
        return None
    return prompts(known["block_hashes"], int(sizes[0]))


def _unsized(inferred: Capacity | None) -> str:
    told = "its use does not tell it"
    if inferred is not None:
        told = f"from its use it is {inferred.low:,.0f} to {inferred.high:,.0f} tokens"
    return f"the KV cache was full, its size is not recorded, and {told} (set replay_kv_blocks)"


def _capacity(
    asked: Asked, incident: Incident, made: Requests, known: pl.DataFrame, values: Mapping[str, float]
) -> Capacity | None:
    span = {"origin_s": float(known["origin_s"][0]), "last_s": float(made.arrival.max())}
    seen = asked.frame(_USE, {"service": incident.service, **span})
    seen = seen.join(_numbers(known), on="replica").select("at_s", "usage_ratio", replica="number")
    return capacity(made, seen.sort("replica", "at_s"), values["replay_full_ratio"])


def _with_cache(asked: Asked, made: Requests, known: pl.DataFrame, block: int) -> Requests | None:
    counted = asked.frame(_COMPUTED, {"origin_s": float(known["origin_s"][0])})
    counted = counted.join(_numbers(known), on="replica").sort("number", "minute")
    if counted.is_empty():
        return None
    counted = counted.select("minute", "tokens", replica="number")
    return with_inferred_cache(made, counted, block)


def _numbers(known: pl.DataFrame) -> pl.DataFrame:
    return known.select("replica", number=NUMBER).unique()


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
            case when $goes_on then coalesce(later.to_at, during.to_at) else during.to_at end as until_at,
            epoch(date_trunc('minute', baseline.from_at)) - 600 as origin_s
        from evidence.phase as baseline
        inner join evidence.phase as during
            on baseline.incident_id = during.incident_id and during.phase = 'during'
        left join evidence.phase as later
            on baseline.incident_id = later.incident_id and later.phase = 'after'
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
        request.block_hashes,
        request.block_size_tokens,
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
            when request.started_at >= incident.ended_at then 'after'
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
        and request.started_at < incident.until_at
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
_USE = """
    select
        sample.replica,
        epoch(sample.sampled_at) - $origin_s as at_s,
        sample.kv_cache_usage_ratio as usage_ratio
    from norm.engine_sample as sample
    inner join (select distinct replica from norm.request where service = $service) as own
        on sample.replica = own.replica
    where
        sample.kv_cache_usage_ratio is not null
        and epoch(sample.sampled_at) - $origin_s between 0 and $last_s
    order by sample.replica, sample.sampled_at
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

-- One row per incident: did the prefix cache hit less, and why?
--
-- incident_id                   -          incident
-- covered_ratio                 ratio 0-1  minutes of the window with a hit rate
-- hit_ratio                     ratio 0-1  prefix-cache hits over look-ups, in tokens
-- hit_ratio_before              ratio 0-1  the same in the baseline
-- late_hit_ratio                ratio 0-1  the same in the last third of the phase
-- late_hit_ratio_before         ratio 0-1  the same in the baseline
-- short_hit_ratio               ratio 0-1  the same of requests that are not long, by their spans
-- short_hit_ratio_before        ratio 0-1  the same in the baseline
-- short_hit_most_ratio          ratio 0-1  hits over the tokens of prompts that are not long: the most that
--                                          these can have found, were there no hits of long ones; hit_ratio
--                                          where no length is known
-- short_hit_most_ratio_before   ratio 0-1  the same in the baseline
-- computed_tokens_per_s         tokens/s   prompt tokens not found in the cache, so computed, over all
--                                          replicas
-- computed_tokens_per_s_before  tokens/s   the same in the baseline
-- evictions_per_minute          1/min      KV blocks evicted a minute, over all replicas
-- evictions_per_minute_before   1/min      the same in the baseline
-- is_prefix_caching             -          1 if prefix caching is configured on, 0 if off on some replica
-- is_prefix_caching_before      -          the same in the baseline
-- restarts                      count      restarts of engine replicas, from $lead_minutes minutes before
--                                          the phase on
-- restarts_before               count      restarts in the baseline, up to then

with engine as (
    select
        minute,
        service,
        steady_sum(computed_tokens_per_s) as computed_tokens_per_s,
        min(is_prefix_caching) as is_prefix_caching
    from mart.engine_minute
    group by minute, service
),

restart as (
    select
        phase.incident_id,
        phase.phase,
        sum(engine_minute.restarts) as restarts
    from evidence.phase
    inner join mart.engine_minute
        on
            phase.service = engine_minute.service
            and phase.from_at
            - case when phase.phase = 'baseline' then 0 else $lead_minutes end * interval 1 minute
            <= engine_minute.minute
            and phase.to_at > engine_minute.minute
    left join evidence.phase as during on phase.incident_id = during.incident_id and during.phase = 'during'
    where
        phase.phase != 'baseline'
        or during.from_at is null
        or during.from_at - $lead_minutes * interval 1 minute > engine_minute.minute
    group by phase.incident_id, phase.phase
),

-- Long prompts that nobody sent before are look-ups that find nothing, and drown the hits of all others.
asked as (
    select
        incident_id,
        phase,
        sum(case when not is_long then prompt_tokens end) / nullif(sum(prompt_tokens), 0) as short_share
    from evidence.request_phase
    group by incident_id, phase
),

measured as (
    select
        phase.incident_id,
        phase.phase,
        phase.minutes as phase_minutes,
        cache.hits_tokens,
        cache.queries_tokens,
        cache.hit_ratio,
        cache.short_hit_ratio,
        cache.evictions,
        engine.computed_tokens_per_s,
        engine.is_prefix_caching,
        restart.restarts,
        asked.short_share,
        cache.minute >= phase.to_at - (phase.to_at - phase.from_at) / 3 as is_late
    from evidence.phase
    inner join mart.cache_minute as cache
        on
            phase.service = cache.service
            and phase.from_at <= cache.minute
            and phase.to_at > cache.minute
    left join engine on cache.minute = engine.minute and cache.service = engine.service
    left join restart on phase.incident_id = restart.incident_id and phase.phase = restart.phase
    left join asked on phase.incident_id = asked.incident_id and phase.phase = asked.phase
),

summed as (
    select
        incident_id,
        count(hit_ratio) filter (where phase = 'during')
        / nullif(ceil(any_value(phase_minutes) filter (where phase = 'during')), 0) as covered_ratio,
        coalesce(
            steady_sum(case when phase = 'during' then hits_tokens end)
            / nullif(steady_sum(case when phase = 'during' then queries_tokens end), 0),
            steady_avg(case when phase = 'during' then hit_ratio end)
        ) as hit_ratio,
        coalesce(
            steady_sum(case when phase = 'baseline' then hits_tokens end)
            / nullif(steady_sum(case when phase = 'baseline' then queries_tokens end), 0),
            steady_avg(case when phase = 'baseline' then hit_ratio end)
        ) as hit_ratio_before,
        steady_avg(case when is_late and phase = 'during' then hit_ratio end) as late_hit_ratio,
        steady_avg(case when is_late and phase = 'baseline' then hit_ratio end) as late_hit_ratio_before,
        steady_avg(case when phase = 'during' then short_hit_ratio end) as short_hit_ratio,
        steady_avg(case when phase = 'baseline' then short_hit_ratio end) as short_hit_ratio_before,
        steady_avg(case when phase = 'during' then computed_tokens_per_s end) as computed_tokens_per_s,
        steady_avg(case when phase = 'baseline' then computed_tokens_per_s end)
            as computed_tokens_per_s_before,
        steady_avg(case when phase = 'during' then evictions end) as evictions_per_minute,
        steady_avg(case when phase = 'baseline' then evictions end) as evictions_per_minute_before,
        min(is_prefix_caching) filter (where phase = 'during') as is_prefix_caching,
        min(is_prefix_caching) filter (where phase = 'baseline') as is_prefix_caching_before,
        max(restarts) filter (where phase = 'during') as restarts,
        max(restarts) filter (where phase = 'baseline') as restarts_before,
        any_value(short_share) filter (where phase = 'during') as short_share,
        any_value(short_share) filter (where phase = 'baseline') as short_share_before
    from measured
    group by incident_id
)

select
    incident_id,
    covered_ratio,
    hit_ratio,
    hit_ratio_before,
    late_hit_ratio,
    late_hit_ratio_before,
    short_hit_ratio,
    short_hit_ratio_before,
    if(short_share > 0, least(1, hit_ratio / short_share), hit_ratio) as short_hit_most_ratio,
    if(short_share_before > 0, least(1, hit_ratio_before / short_share_before), hit_ratio_before)
        as short_hit_most_ratio_before,
    computed_tokens_per_s,
    computed_tokens_per_s_before,
    evictions_per_minute,
    evictions_per_minute_before,
    is_prefix_caching,
    is_prefix_caching_before,
    restarts,
    restarts_before
from summed

-- One row per incident: what did the engines say of themselves?
--
-- incident_id                    -          incident
-- covered_ratio                  ratio 0-1  minutes of the window with engine metrics, over as many replicas
--                                           as usually had some in the baseline
-- kv_cache_usage_ratio           ratio 0-1  KV cache blocks in use, highest replica, mean over minutes
-- kv_cache_usage_ratio_before    ratio 0-1  the same in the baseline
-- preemptions_per_minute         1/min      requests preempted a minute, over all replicas
-- preemptions_per_minute_before  1/min      the same in the baseline
-- waiting_requests               count      requests waiting, over all replicas, mean
-- waiting_requests_before        count      the same in the baseline
-- running_requests               count      requests running, over all replicas, mean
-- running_requests_before        count      the same in the baseline
-- prefill_tokens_per_s           tokens/s   prefill throughput as the engines state it, mean
-- prefill_tokens_per_s_before    tokens/s   the same in the baseline
-- decode_p50_s                   s          decode step, median
-- decode_p50_s_before            s          the same in the baseline
-- decode_p99_s                   s          decode step, 99th percentile
-- decode_p99_s_before            s          the same in the baseline
-- decode_spread                  ratio      decode step, 99th percentile over median
-- decode_spread_before           ratio      the same in the baseline
-- attention_p99_s                s          attention compute time, 99th percentile
-- attention_p99_s_before         s          the same in the baseline
-- fragmentation_ratio            ratio 0-1  fragmentation of the block pool
-- fragmentation_ratio_before     ratio 0-1  the same in the baseline
-- block_wait_p99_s               s          wait for a free block, 99th percentile
-- block_wait_p99_s_before        s          the same in the baseline
-- block_changes_per_s            1/s        blocks allocated and freed a second, over all replicas
-- block_changes_per_s_before     1/s        the same in the baseline

with fleet as (
    select
        minute,
        service,
        count(*) as replicas,
        max(kv_cache_usage_ratio) as kv_cache_usage_ratio,
        steady_sum(preemptions) as preemptions,
        steady_sum(waiting_requests) as waiting_requests,
        steady_sum(running_requests) as running_requests,
        steady_avg(prefill_tokens_per_s) as prefill_tokens_per_s,
        steady_avg(decode_p50_s) as decode_p50_s,
        steady_avg(decode_p99_s) as decode_p99_s,
        steady_avg(attention_p99_s) as attention_p99_s,
        steady_avg(fragmentation_ratio) as fragmentation_ratio,
        steady_avg(block_wait_p99_s) as block_wait_p99_s,
        steady_sum(block_changes) as block_changes
    from mart.engine_minute
    group by minute, service
),

measured as (
    select
        fleet.*,
        phase.incident_id,
        phase.phase,
        phase.minutes as phase_minutes
    from evidence.phase
    inner join fleet
        on
            phase.service = fleet.service
            and phase.from_at <= fleet.minute
            and phase.to_at > fleet.minute
),

usual as (
    select
        incident_id,
        coalesce(median(replicas) filter (where phase = 'baseline'), max(replicas)) as replicas
    from measured
    group by incident_id
)

select
    measured.incident_id,
    sum(least(measured.replicas, usual.replicas)) filter (where phase = 'during')
    / nullif(
        ceil(any_value(phase_minutes) filter (where phase = 'during')) * any_value(usual.replicas), 0
    ) as covered_ratio,
    steady_avg(case when phase = 'during' then kv_cache_usage_ratio end) as kv_cache_usage_ratio,
    steady_avg(case when phase = 'baseline' then kv_cache_usage_ratio end) as kv_cache_usage_ratio_before,
    steady_avg(case when phase = 'during' then preemptions end) as preemptions_per_minute,
    steady_avg(case when phase = 'baseline' then preemptions end) as preemptions_per_minute_before,
    steady_avg(case when phase = 'during' then waiting_requests end) as waiting_requests,
    steady_avg(case when phase = 'baseline' then waiting_requests end) as waiting_requests_before,
    steady_avg(case when phase = 'during' then running_requests end) as running_requests,
    steady_avg(case when phase = 'baseline' then running_requests end) as running_requests_before,
    steady_avg(case when phase = 'during' then prefill_tokens_per_s end) as prefill_tokens_per_s,
    steady_avg(case when phase = 'baseline' then prefill_tokens_per_s end) as prefill_tokens_per_s_before,
    steady_avg(case when phase = 'during' then decode_p50_s end) as decode_p50_s,
    steady_avg(case when phase = 'baseline' then decode_p50_s end) as decode_p50_s_before,
    steady_avg(case when phase = 'during' then decode_p99_s end) as decode_p99_s,
    steady_avg(case when phase = 'baseline' then decode_p99_s end) as decode_p99_s_before,
    steady_avg(case when phase = 'during' then decode_p99_s / decode_p50_s end) as decode_spread,
    steady_avg(case when phase = 'baseline' then decode_p99_s / decode_p50_s end) as decode_spread_before,
    steady_avg(case when phase = 'during' then attention_p99_s end) as attention_p99_s,
    steady_avg(case when phase = 'baseline' then attention_p99_s end) as attention_p99_s_before,
    steady_avg(case when phase = 'during' then fragmentation_ratio end) as fragmentation_ratio,
    steady_avg(case when phase = 'baseline' then fragmentation_ratio end) as fragmentation_ratio_before,
    steady_avg(case when phase = 'during' then block_wait_p99_s end) as block_wait_p99_s,
    steady_avg(case when phase = 'baseline' then block_wait_p99_s end) as block_wait_p99_s_before,
    steady_avg(case when phase = 'during' then block_changes end) / 60 as block_changes_per_s,
    steady_avg(case when phase = 'baseline' then block_changes end) / 60 as block_changes_per_s_before
from measured
inner join usual on measured.incident_id = usual.incident_id
group by measured.incident_id

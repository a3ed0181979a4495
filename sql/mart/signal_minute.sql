-- One row per service, minute and signal that an alert rule can watch.
--
-- minute   UTC  start of the minute
-- service  -    service
-- signal   -    its name, as alert rules cite it
-- value    -    the figure in the signal's unit: latency_p99_s, ttft_p99_s, queue_p99_s, tpot_p50_s,
--               outside_p50_s, block_wait_p99_s s; long_context_ratio, hit_ratio, dram_active_ratio,
--               fragmentation_ratio, kv_cache_usage_ratio ratio 0-1; requests_per_minute,
--               evictions_per_minute, preemptions_per_minute 1/min; waiting_requests count; decode_spread
--               ratio; prefill_tokens_per_s tokens/s; sm_clock_mhz MHz. Of replicas and GPUs the highest,
--               but of prefill_tokens_per_s the mean, of waiting_requests and what is counted the sum, and
--               of sm_clock_mhz the lowest
-- every_s  s    time between two samples of it; null where each request is one

with engine as (
    select
        minute,
        service,
        60 / max(scrapes) as every_s,
        max(decode_p99_s / nullif(decode_p50_s, 0)) as decode_spread,
        max(fragmentation_ratio) as fragmentation_ratio,
        max(block_wait_p99_s) as block_wait_p99_s,
        steady_avg(prefill_tokens_per_s) as prefill_tokens_per_s,
        max(kv_cache_usage_ratio) as kv_cache_usage_ratio,
        steady_sum(waiting_requests) as waiting_requests,
        steady_sum(preemptions) as preemptions_per_minute
    from mart.engine_minute
    group by minute, service
),

signals as (
    select
        minute,
        service,
        unnest(['latency_p99_s', 'ttft_p99_s', 'queue_p99_s', 'tpot_p50_s', 'outside_p50_s']) as signal,
        unnest([p99_s, ttft_p99_s, queue_p99_s, tpot_p50_s, outside_p50_s]) as value,
        null::double as every_s
    from mart.latency_minute
    where measured >= 20 -- of fewer, a 99th percentile is their maximum

    union all

    select
        minute,
        service,
        'requests_per_minute' as signal,
        requests as value,
        null::double as every_s
    from mart.latency_minute

    union all

    select
        minute,
        service,
        'long_context_ratio' as signal,
        long_context_ratio as value,
        null::double as every_s
    from mart.mix_minute

    union all

    select
        cache.minute,
        cache.service,
        unnest(['hit_ratio', 'evictions_per_minute']) as signal,
        unnest([cache.hit_ratio, cache.evictions]) as value,
        engine.every_s
    from mart.cache_minute as cache
    left join engine on cache.minute = engine.minute and cache.service = engine.service

    union all

    select
        minute,
        service,
        unnest([
            'decode_spread', 'fragmentation_ratio', 'block_wait_p99_s', 'prefill_tokens_per_s',
            'kv_cache_usage_ratio', 'waiting_requests', 'preemptions_per_minute'
        ]) as signal,
        unnest([
            decode_spread, fragmentation_ratio, block_wait_p99_s, prefill_tokens_per_s,
            kv_cache_usage_ratio, waiting_requests, preemptions_per_minute
        ]) as value,
        every_s
    from engine

    union all

    select
        gpu.minute,
        own.service,
        unnest(['dram_active_ratio', 'sm_clock_mhz']) as signal,
        unnest([max(gpu.dram_active_ratio), min(gpu.sm_clock_mhz)]) as value,
        60 / max(gpu.scrapes) as every_s
    from mart.gpu_minute as gpu
    inner join mart.gpu_host as own on gpu.host is not distinct from own.host
    group by gpu.minute, own.service
)

select
    minute,
    service,
    signal,
    value::double as value,
    every_s
from signals
where value is not null
order by service, signal, minute

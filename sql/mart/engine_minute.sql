-- One row per engine replica and minute with a scrape of its metrics.
--
-- minute                  UTC        start of the minute
-- service                 -          service it answers for: as this replica's spans say, else those of its
--                                    service name; else the only one there is, if no replica is known by
--                                    name; else as the metrics state
-- replica                 -          pod or instance
-- scrapes                 count      scrapes in this minute
-- running_requests        count      requests in the running batch, mean
-- waiting_requests        count      requests waiting, mean
-- kv_cache_usage_ratio    ratio 0-1  KV cache blocks in use, highest
-- queries_tokens          tokens     prompt tokens looked up in the prefix cache, or taken in if more
-- hits_tokens             tokens     of these, found there
-- computed_tokens_per_s   tokens/s   prompt tokens not found there, so computed
-- generated_tokens_per_s  tokens/s   tokens generated
-- preemptions             count      requests preempted
-- is_prefix_caching       -          1 if prefix caching is configured on, 0 if off, lowest
-- restarts                count      scrapes after which a counter had fallen
-- prefill_tokens_per_s    tokens/s   prefill throughput as the engine states it, mean
-- decode_p50_s            s          decode step, median as the engine states it
-- decode_p99_s            s          decode step, 99th percentile as the engine states it
-- stated_hit_ratio        ratio 0-1  hit rate as the engine states it, mean
-- evictions               count      KV blocks evicted
-- fragmentation_ratio     ratio 0-1  fragmentation of the block pool, mean
-- attention_p99_s         s          attention compute time, 99th percentile as the engine states it
-- block_wait_p99_s        s          wait for a free block, 99th percentile as the engine states it
-- block_changes           count      blocks allocated and freed
-- observed_s              s          time the counters of this minute cover

with named as (
    select
        engine_service,
        min(service) as service
    from norm.service_name
    where engine_service != '' and is_seen
    group by engine_service
    having count(distinct service) = 1
),

known as (
    select service from norm.service_name
    where is_seen
    union
    select service from norm.replica
),

only_service as (
    select min(service) as service
    from known
    having
        count(distinct service) = 1
        -- where some replicas are known by name, the others are not this service's
        and not exists (
            select 1 from norm.engine_sample as sample
            inner join norm.replica on sample.replica = replica.replica
        )
)

select
    time_bucket(interval 1 minute, sample.sampled_at) as minute,
    coalesce(replica.service, named.service, only_service.service, sample.service) as service,
    sample.replica,
    count(*) as scrapes,
    steady_avg(sample.running_requests) as running_requests,
    steady_avg(sample.waiting_requests) as waiting_requests,
    max(sample.kv_cache_usage_ratio) as kv_cache_usage_ratio,
    -- an engine whose prefix caching is off counts no look-ups, so its prompts stand in for them
    greatest(steady_sum(sample.prefix_queries_tokens), steady_sum(sample.prompt_tokens)) as queries_tokens,
    steady_sum(sample.prefix_hits_tokens) as hits_tokens,
    (
        greatest(steady_sum(sample.prefix_queries_tokens), steady_sum(sample.prompt_tokens))
        - steady_sum(sample.prefix_hits_tokens)
    )
    / nullif(steady_sum(case when sample.prefix_hits_tokens is not null then sample.interval_s end), 0)
        as computed_tokens_per_s,
    steady_sum(sample.generation_tokens)
    / nullif(steady_sum(case when sample.generation_tokens is not null then sample.interval_s end), 0)
        as generated_tokens_per_s,
    steady_sum(sample.preemptions) as preemptions,
    min(sample.is_prefix_caching) as is_prefix_caching,
    count_if(sample.is_restart) as restarts,
    steady_avg(sample.prefill_tokens_per_s) as prefill_tokens_per_s,
    steady_avg(sample.decode_p50_s) as decode_p50_s,
    steady_avg(sample.decode_p99_s) as decode_p99_s,
    steady_avg(sample.prefix_hit_ratio) as stated_hit_ratio,
    steady_sum(sample.evictions) as evictions,
    steady_avg(sample.fragmentation_ratio) as fragmentation_ratio,
    steady_avg(sample.attention_p99_s) as attention_p99_s,
    steady_avg(sample.block_wait_p99_s) as block_wait_p99_s,
    steady_sum(sample.block_allocations) + steady_sum(sample.block_frees) as block_changes,
    steady_sum(sample.interval_s) as observed_s
from norm.engine_sample as sample
left join norm.replica on sample.replica = replica.replica
left join named on sample.service = named.engine_service
left join only_service on true
group by
    minute, coalesce(replica.service, named.service, only_service.service, sample.service), sample.replica
order by minute, service, sample.replica

-- One row per engine replica and minute with a scrape of its metrics.
--
-- minute                  UTC        start of the minute
-- service                 -          service it answers for: as its spans say, else as the metrics state
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

select
    time_bucket(interval 1 minute, sample.sampled_at) as minute,
    coalesce(replica.service, sample.service) as service,
    sample.replica,
    count(*) as scrapes,
    avg(sample.running_requests) as running_requests,
    avg(sample.waiting_requests) as waiting_requests,
    max(sample.kv_cache_usage_ratio) as kv_cache_usage_ratio,
    -- an engine whose prefix caching is off counts no look-ups, so its prompts stand in for them
    greatest(sum(sample.prefix_queries_tokens), sum(sample.prompt_tokens)) as queries_tokens,
    sum(sample.prefix_hits_tokens) as hits_tokens,
    (greatest(sum(sample.prefix_queries_tokens), sum(sample.prompt_tokens)) - sum(sample.prefix_hits_tokens))
    / nullif(sum(sample.interval_s) filter (where sample.prefix_hits_tokens is not null), 0) as computed_tokens_per_s,
    sum(sample.generation_tokens)
    / nullif(sum(sample.interval_s) filter (where sample.generation_tokens is not null), 0) as generated_tokens_per_s,
    sum(sample.preemptions) as preemptions,
    min(sample.is_prefix_caching) as is_prefix_caching,
    count_if(sample.is_restart) as restarts,
    avg(sample.prefill_tokens_per_s) as prefill_tokens_per_s,
    avg(sample.decode_p50_s) as decode_p50_s,
    avg(sample.decode_p99_s) as decode_p99_s,
    avg(sample.prefix_hit_ratio) as stated_hit_ratio,
    sum(sample.evictions) as evictions,
    avg(sample.fragmentation_ratio) as fragmentation_ratio,
    avg(sample.attention_p99_s) as attention_p99_s,
    avg(sample.block_wait_p99_s) as block_wait_p99_s,
    sum(sample.block_allocations) + sum(sample.block_frees) as block_changes,
    sum(sample.interval_s) as observed_s
from norm.engine_sample as sample
left join norm.replica on sample.replica = replica.replica
group by minute, coalesce(replica.service, sample.service), sample.replica
order by minute, service, sample.replica

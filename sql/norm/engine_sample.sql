-- One row per engine replica and scrape.
--
-- sampled_at             UTC        when it was scraped
-- replica                -          pod or instance
-- service                -          service the engine states, if it does
-- model                  -          model served
-- host                   -          machine, if stated
-- running_requests       count      requests in the running batch
-- waiting_requests       count      requests waiting
-- kv_cache_usage_ratio   ratio 0-1  KV cache blocks in use
-- prefix_queries_tokens  tokens     prompt tokens looked up in the prefix cache since the sample before
-- prefix_hits_tokens     tokens     of these, found there
-- preemptions            count      requests preempted since the sample before
-- prompt_tokens          tokens     prompt tokens taken in since the sample before
-- generation_tokens      tokens     tokens generated since the sample before
-- requests_finished      count      requests finished since the sample before
-- queue_sum_s            s          time in queue, summed over what ended since the sample before
-- queue_count            count      how many time in queue observations that is
-- prefill_sum_s          s          prefill time, summed over what ended since the sample before
-- prefill_count          count      how many prefill time observations that is
-- ttft_sum_s             s          time to first token, summed over what ended since the sample before
-- ttft_count             count      how many time to first token observations that is
-- itl_sum_s              s          time between tokens, summed over what ended since the sample before
-- itl_count              count      how many time between tokens observations that is
-- e2e_sum_s              s          total time, summed over what ended since the sample before
-- e2e_count              count      how many total time observations that is
-- gpu_blocks             count      KV cache blocks the engine has
-- block_size_tokens      tokens     tokens a block holds
-- is_prefix_caching      -          1 if prefix caching is configured on, 0 if off
-- prefill_tokens_per_s   tokens/s   prefill throughput as the engine states it
-- decode_p50_s           s          decode step, median
-- decode_p99_s           s          decode step, 99th percentile
-- prefix_hit_ratio       ratio 0-1  prefix-cache hit rate as the engine states it
-- evictions              count      KV blocks evicted since the sample before
-- fragmentation_ratio    ratio 0-1  fragmentation of the block pool
-- attention_p99_s        s          attention compute time, 99th percentile
-- block_wait_p99_s       s          wait for a free block, 99th percentile
-- block_allocations      count      blocks allocated since the sample before
-- block_frees            count      blocks freed since the sample before
-- interval_s             s          time since the sample before; what counters added belongs to it
-- is_restart             boolean    a counter fell since the sample before: the engine restarted

select
    sampled_at,
    replica,
    min(service) as service,
    min(model) as model,
    min(host) as host,
    max(value) filter (where field = 'running_requests') as running_requests,
    max(value) filter (where field = 'waiting_requests') as waiting_requests,
    max(value) filter (where field = 'kv_cache_usage_ratio') as kv_cache_usage_ratio,
    sum(added) filter (where field = 'prefix_queries_tokens') as prefix_queries_tokens,
    sum(added) filter (where field = 'prefix_hits_tokens') as prefix_hits_tokens,
    sum(added) filter (where field = 'preemptions') as preemptions,
    sum(added) filter (where field = 'prompt_tokens') as prompt_tokens,
    sum(added) filter (where field = 'generation_tokens') as generation_tokens,
    sum(added) filter (where field = 'requests_finished') as requests_finished,
    sum(added) filter (where field = 'queue_sum_s') as queue_sum_s,
    sum(added) filter (where field = 'queue_count') as queue_count,
    sum(added) filter (where field = 'prefill_sum_s') as prefill_sum_s,
    sum(added) filter (where field = 'prefill_count') as prefill_count,
    sum(added) filter (where field = 'ttft_sum_s') as ttft_sum_s,
    sum(added) filter (where field = 'ttft_count') as ttft_count,
    sum(added) filter (where field = 'itl_sum_s') as itl_sum_s,
    sum(added) filter (where field = 'itl_count') as itl_count,
    sum(added) filter (where field = 'e2e_sum_s') as e2e_sum_s,
    sum(added) filter (where field = 'e2e_count') as e2e_count,
    max(value) filter (where field = 'gpu_blocks') as gpu_blocks,
    max(value) filter (where field = 'block_size_tokens') as block_size_tokens,
    max(value) filter (where field = 'is_prefix_caching') as is_prefix_caching,
    max(value) filter (where field = 'prefill_tokens_per_s') as prefill_tokens_per_s,
    max(value) filter (where field = 'decode_p50_s') as decode_p50_s,
    max(value) filter (where field = 'decode_p99_s') as decode_p99_s,
    max(value) filter (where field = 'prefix_hit_ratio') as prefix_hit_ratio,
    sum(added) filter (where field = 'evictions') as evictions,
    max(value) filter (where field = 'fragmentation_ratio') as fragmentation_ratio,
    max(value) filter (where field = 'attention_p99_s') as attention_p99_s,
    max(value) filter (where field = 'block_wait_p99_s') as block_wait_p99_s,
    sum(added) filter (where field = 'block_allocations') as block_allocations,
    sum(added) filter (where field = 'block_frees') as block_frees,
    max(interval_s) as interval_s,
    bool_or(is_reset) as is_restart
from norm.metric
where record = 'engine_sample'
group by replica, sampled_at

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

-- A replica may hold several ranks of data parallelism, each with its own queue; ranks of tensor and pipeline
-- parallelism, and priorities, state the same queue again.
with by_rank as (
    select
        sampled_at,
        replica,
        field,
        min(service) as service,
        min(model) as model,
        min(host) as host,
        max(value) as value,
        steady_sum(added) as added,
        max(interval_s) as interval_s,
        bool_or(is_reset) as is_reset
    from norm.metric
    where record = 'engine_sample'
    group by sampled_at, replica, field, model, labels['engine'], labels['dp_rank']
)

select
    sampled_at,
    replica,
    min(service) as service,
    min(model) as model,
    min(host) as host,
    steady_sum(case when field = 'running_requests' then value end) as running_requests,
    steady_sum(case when field = 'waiting_requests' then value end) as waiting_requests,
    max(value) filter (where field = 'kv_cache_usage_ratio') as kv_cache_usage_ratio,
    steady_sum(case when field = 'prefix_queries_tokens' then added end) as prefix_queries_tokens,
    steady_sum(case when field = 'prefix_hits_tokens' then added end) as prefix_hits_tokens,
    steady_sum(case when field = 'preemptions' then added end) as preemptions,
    steady_sum(case when field = 'prompt_tokens' then added end) as prompt_tokens,
    steady_sum(case when field = 'generation_tokens' then added end) as generation_tokens,
    steady_sum(case when field = 'requests_finished' then added end) as requests_finished,
    steady_sum(case when field = 'queue_sum_s' then added end) as queue_sum_s,
    steady_sum(case when field = 'queue_count' then added end) as queue_count,
    steady_sum(case when field = 'prefill_sum_s' then added end) as prefill_sum_s,
    steady_sum(case when field = 'prefill_count' then added end) as prefill_count,
    steady_sum(case when field = 'ttft_sum_s' then added end) as ttft_sum_s,
    steady_sum(case when field = 'ttft_count' then added end) as ttft_count,
    steady_sum(case when field = 'itl_sum_s' then added end) as itl_sum_s,
    steady_sum(case when field = 'itl_count' then added end) as itl_count,
    steady_sum(case when field = 'e2e_sum_s' then added end) as e2e_sum_s,
    steady_sum(case when field = 'e2e_count' then added end) as e2e_count,
    max(value) filter (where field = 'gpu_blocks') as gpu_blocks,
    max(value) filter (where field = 'block_size_tokens') as block_size_tokens,
    max(value) filter (where field = 'is_prefix_caching') as is_prefix_caching,
    max(value) filter (where field = 'prefill_tokens_per_s') as prefill_tokens_per_s,
    max(value) filter (where field = 'decode_p50_s') as decode_p50_s,
    max(value) filter (where field = 'decode_p99_s') as decode_p99_s,
    max(value) filter (where field = 'prefix_hit_ratio') as prefix_hit_ratio,
    steady_sum(case when field = 'evictions' then added end) as evictions,
    max(value) filter (where field = 'fragmentation_ratio') as fragmentation_ratio,
    max(value) filter (where field = 'attention_p99_s') as attention_p99_s,
    max(value) filter (where field = 'block_wait_p99_s') as block_wait_p99_s,
    steady_sum(case when field = 'block_allocations' then added end) as block_allocations,
    steady_sum(case when field = 'block_frees' then added end) as block_frees,
    max(interval_s) as interval_s,
    bool_or(is_reset) as is_restart
from by_rank
group by replica, sampled_at

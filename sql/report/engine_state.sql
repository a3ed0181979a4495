-- One row per incident and engine figure that was recorded: during the incident beside before it.
--
-- incident_id  -  incident
-- position     -  order in which the figures are read
-- signal       -  what it is
-- baseline     -  mean in the baseline, in the unit of the row
-- value        -  mean during the incident, in the unit of the row
-- unit         -  its unit

with figures as (
    select
        engine.incident_id,
        unnest([
            {
                'position': 1,
                'signal': 'Prefill throughput, as stated',
                'unit': 'tokens/s',
                'baseline': engine.prefill_tokens_per_s_before,
                'value': engine.prefill_tokens_per_s
            },
            {
                'position': 2,
                'signal': 'Prompt tokens computed, not cached',
                'unit': 'tokens/s',
                'baseline': cache.computed_tokens_per_s_before,
                'value': cache.computed_tokens_per_s
            },
            {
                'position': 3,
                'signal': 'Decode step, P50',
                'unit': 's',
                'baseline': engine.decode_p50_s_before,
                'value': engine.decode_p50_s
            },
            {
                'position': 4,
                'signal': 'Decode step, P99',
                'unit': 's',
                'baseline': engine.decode_p99_s_before,
                'value': engine.decode_p99_s
            },
            {
                'position': 5,
                'signal': 'Decode step, P99 over P50',
                'unit': 'count',
                'baseline': engine.decode_spread_before,
                'value': engine.decode_spread
            },
            {
                'position': 6,
                'signal': 'Prefix-cache hits',
                'unit': 'ratio',
                'baseline': cache.hit_ratio_before,
                'value': cache.hit_ratio
            },
            {
                'position': 7,
                'signal': 'Prefix-cache hits of short requests',
                'unit': 'ratio',
                'baseline': cache.short_hit_ratio_before,
                'value': cache.short_hit_ratio
            },
            {
                'position': 8,
                'signal': 'Blocks evicted',
                'unit': '1/min',
                'baseline': cache.evictions_per_minute_before,
                'value': cache.evictions_per_minute
            },
            {
                'position': 9,
                'signal': 'Fragmentation of the block pool',
                'unit': 'ratio',
                'baseline': engine.fragmentation_ratio_before,
                'value': engine.fragmentation_ratio
            },
            {
                'position': 10,
                'signal': 'KV cache in use, fullest replica',
                'unit': 'ratio',
                'baseline': engine.kv_cache_usage_ratio_before,
                'value': engine.kv_cache_usage_ratio
            },
            {
                'position': 11,
                'signal': 'Attention time, P99',
                'unit': 's',
                'baseline': engine.attention_p99_s_before,
                'value': engine.attention_p99_s
            },
            {
                'position': 12,
                'signal': 'Wait for a block, P99',
                'unit': 's',
                'baseline': engine.block_wait_p99_s_before,
                'value': engine.block_wait_p99_s
            },
            {
                'position': 13,
                'signal': 'Blocks allocated and freed',
                'unit': '1/s',
                'baseline': engine.block_changes_per_s_before,
                'value': engine.block_changes_per_s
            },
            {
                'position': 14,
                'signal': 'Requests running',
                'unit': 'count',
                'baseline': engine.running_requests_before,
                'value': engine.running_requests
            },
            {
                'position': 15,
                'signal': 'Requests waiting',
                'unit': 'count',
                'baseline': engine.waiting_requests_before,
                'value': engine.waiting_requests
            },
            {
                'position': 16,
                'signal': 'Requests preempted',
                'unit': '1/min',
                'baseline': engine.preemptions_per_minute_before,
                'value': engine.preemptions_per_minute
            },
            {
                'position': 17,
                'signal': 'Device memory active',
                'unit': 'ratio',
                'baseline': memory.dram_active_ratio_before,
                'value': memory.dram_active_ratio
            },
            {
                'position': 18,
                'signal': 'GPU utilisation',
                'unit': 'ratio',
                'baseline': memory.gpu_util_ratio_before,
                'value': memory.gpu_util_ratio
            }
        ]) as figure
    from evidence.engine
    left join evidence.cache on engine.incident_id = cache.incident_id
    left join evidence.memory_bandwidth as memory on engine.incident_id = memory.incident_id
)

select
    incident_id,
    figure.position,
    figure.signal,
    figure.baseline::double as baseline,
    figure.value::double as value,
    figure.unit
from figures
where figure.value is not null
order by incident_id, figure.position

-- One row per incident: were long prompts more, and did short requests pay?
--
-- incident_id                      -          incident
-- covered_ratio                    ratio 0-1  requests of the window whose prompt length is known
-- long_from_tokens                 tokens     a prompt of this length or more is long (mart.prompt_length)
-- long_context_ratio               ratio 0-1  share of requests with a long prompt, among those of known
--                                             length
-- long_context_ratio_before        ratio 0-1  the same in the baseline
-- long_requests_per_minute         1/min      long requests that arrived a minute; null where no length is
--                                             known
-- long_requests_per_minute_before  1/min      the same in the baseline
-- prompt_mean_tokens               tokens     prompt length, mean
-- prompt_mean_tokens_before        tokens     the same in the baseline
-- long_mean_tokens                 tokens     length of the long prompts, mean
-- long_mean_tokens_before          tokens     the same in the baseline
-- prompt_max_tokens                tokens     longest prompt
-- prompt_max_tokens_before         tokens     the same in the baseline
-- short_p99_s                      s          latency of the requests that are not long, 99th percentile
-- short_p99_s_before               s          the same in the baseline
-- short_ttft_p99_s                 s          time to first token of the requests that are not long, 99th
--                                             percentile
-- short_ttft_p99_s_before          s          the same in the baseline

select
    incident_id,
    count(is_long) filter (where phase = 'during') / nullif(count_if(phase = 'during'), 0) as covered_ratio,
    any_value(long_from_tokens) as long_from_tokens,
    count_if(is_long and phase = 'during')
    / nullif(count(is_long) filter (where phase = 'during'), 0) as long_context_ratio,
    count_if(is_long and phase = 'baseline')
    / nullif(count(is_long) filter (where phase = 'baseline'), 0) as long_context_ratio_before,
    -- a sum, unlike a count, is null where no length is known
    sum(is_long::integer) filter (where phase = 'during')
    / any_value(phase_minutes) filter (where phase = 'during') as long_requests_per_minute,
    sum(is_long::integer) filter (where phase = 'baseline')
    / any_value(phase_minutes) filter (where phase = 'baseline') as long_requests_per_minute_before,
    steady_avg(case when phase = 'during' then prompt_tokens end) as prompt_mean_tokens,
    steady_avg(case when phase = 'baseline' then prompt_tokens end) as prompt_mean_tokens_before,
    steady_avg(case when is_long and phase = 'during' then prompt_tokens end) as long_mean_tokens,
    steady_avg(case when is_long and phase = 'baseline' then prompt_tokens end) as long_mean_tokens_before,
    max(prompt_tokens) filter (where phase = 'during') as prompt_max_tokens,
    max(prompt_tokens) filter (where phase = 'baseline') as prompt_max_tokens_before,
    quantile_cont(duration_s, 0.99) filter (where counts_for_latency and not is_long and phase = 'during')
        as short_p99_s,
    quantile_cont(duration_s, 0.99) filter (where counts_for_latency and not is_long and phase = 'baseline')
        as short_p99_s_before,
    quantile_cont(ttft_s, 0.99) filter (where not is_long and phase = 'during') as short_ttft_p99_s,
    quantile_cont(ttft_s, 0.99) filter (where not is_long and phase = 'baseline') as short_ttft_p99_s_before
from evidence.request_phase
group by incident_id

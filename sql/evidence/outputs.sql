-- One row per incident: did answers grow longer?
--
-- incident_id                 -          incident
-- covered_ratio               ratio 0-1  requests of the window answered well whose output length is known
-- output_mean_tokens          tokens     output length, mean
-- output_mean_tokens_before   tokens     the same in the baseline
-- output_p99_tokens           tokens     output length, 99th percentile
-- output_p99_tokens_before    tokens     the same in the baseline
-- output_tokens_per_s         tokens/s   tokens generated for the requests that arrived a second
-- output_tokens_per_s_before  tokens/s   the same in the baseline

select
    incident_id,
    count(output_tokens) filter (where phase = 'during' and coalesce(status, 200) < 400)
    / nullif(count_if(phase = 'during' and coalesce(status, 200) < 400), 0) as covered_ratio,
    steady_avg(case when phase = 'during' then output_tokens end) as output_mean_tokens,
    steady_avg(case when phase = 'baseline' then output_tokens end) as output_mean_tokens_before,
    quantile_cont(output_tokens, 0.99) filter (where phase = 'during') as output_p99_tokens,
    quantile_cont(output_tokens, 0.99) filter (where phase = 'baseline') as output_p99_tokens_before,
    steady_sum(case when phase = 'during' then output_tokens end)
    / (60 * any_value(phase_minutes) filter (where phase = 'during')) as output_tokens_per_s,
    steady_sum(case when phase = 'baseline' then output_tokens end)
    / (60 * any_value(phase_minutes) filter (where phase = 'baseline')) as output_tokens_per_s_before
from evidence.request_phase
group by incident_id

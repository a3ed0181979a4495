-- One row per incident: in which stage did requests spend their time?
--
-- incident_id                          -            incident
-- covered_ratio                        ratio 0-1    requests of the window answered well that are known both
--                                                   at the gateway and in the engine
-- queue_mean_s                         s            wait in the engine's queue, mean
-- queue_mean_s_before                  s            the same in the baseline
-- queue_p99_s                          s            wait in the engine's queue, 99th percentile
-- queue_p99_s_before                   s            the same in the baseline
-- prefill_mean_s                       s            first schedule to first token, mean
-- prefill_mean_s_before                s            the same in the baseline
-- ttft_p99_s                           s            time to first token, 99th percentile
-- ttft_p99_s_before                    s            the same in the baseline
-- tpot_p50_s                           s            decode time per token, median
-- tpot_p50_s_before                    s            the same in the baseline
-- engine_p50_s                         s            time in the engine, median
-- engine_p50_s_before                  s            the same in the baseline
-- engine_p99_s                         s            time in the engine, 99th percentile
-- engine_p99_s_before                  s            the same in the baseline
-- engine_rise_share                    ratio        part of the rise of the total time's 99th percentile by
--                                                   which that in the engine rose; null where the total rose
--                                                   by less than a tenth
-- outside_p50_s                        s            time outside the engine, median
-- outside_p50_s_before                 s            the same in the baseline
-- outside_p99_s                        s            time outside the engine, 99th percentile
-- outside_p99_s_before                 s            the same in the baseline
-- outside_prompt_ratio                 ratio 0-1    part of the variance of the time outside the engine that
--                                                   the prompt's length explains (r squared)
-- outside_prompt_ratio_before          ratio 0-1    the same in the baseline
-- before_queue_p99_s                   s            time outside the engine and in its process before its
--                                                   queue, 99th percentile
-- before_queue_p99_s_before            s            the same in the baseline
-- before_queue_s_per_1k_tokens         s/1k tokens  growth of that time with prompt length, least squares
-- before_queue_s_per_1k_tokens_before  s/1k tokens  the same in the baseline
-- before_queue_prompt_ratio            ratio 0-1    part of its variance that the prompt's length explains
-- before_queue_prompt_ratio_before     ratio 0-1    the same in the baseline

with known as (
    select
        *,
        -- the total of those whose part in the engine is known
        case when outside_s is not null then duration_s end as total_s
    from evidence.request_phase
)

select
    incident_id,
    count(outside_s) filter (where phase = 'during' and coalesce(status, 200) < 400)
    / nullif(count_if(phase = 'during' and coalesce(status, 200) < 400), 0) as covered_ratio,
    steady_avg(case when phase = 'during' then queue_s end) as queue_mean_s,
    steady_avg(case when phase = 'baseline' then queue_s end) as queue_mean_s_before,
    quantile_cont(queue_s, 0.99) filter (where phase = 'during') as queue_p99_s,
    quantile_cont(queue_s, 0.99) filter (where phase = 'baseline') as queue_p99_s_before,
    steady_avg(case when phase = 'during' then prefill_s end) as prefill_mean_s,
    steady_avg(case when phase = 'baseline' then prefill_s end) as prefill_mean_s_before,
    quantile_cont(ttft_s, 0.99) filter (where phase = 'during') as ttft_p99_s,
    quantile_cont(ttft_s, 0.99) filter (where phase = 'baseline') as ttft_p99_s_before,
    quantile_cont(tpot_s, 0.50) filter (where phase = 'during') as tpot_p50_s,
    quantile_cont(tpot_s, 0.50) filter (where phase = 'baseline') as tpot_p50_s_before,
    quantile_cont(engine_s, 0.50) filter (where phase = 'during') as engine_p50_s,
    quantile_cont(engine_s, 0.50) filter (where phase = 'baseline') as engine_p50_s_before,
    quantile_cont(engine_s, 0.99) filter (where phase = 'during') as engine_p99_s,
    quantile_cont(engine_s, 0.99) filter (where phase = 'baseline') as engine_p99_s_before,
    case
        when
            quantile_cont(total_s, 0.99) filter (where phase = 'during')
            >= 1.1 * quantile_cont(total_s, 0.99) filter (where phase = 'baseline')
            then
                (
                    quantile_cont(engine_s, 0.99) filter (where phase = 'during' and total_s is not null)
                    - quantile_cont(engine_s, 0.99) filter (where phase = 'baseline' and total_s is not null)
                )
                / (
                    quantile_cont(total_s, 0.99) filter (where phase = 'during')
                    - quantile_cont(total_s, 0.99) filter (where phase = 'baseline')
                )
    end as engine_rise_share,
    quantile_cont(outside_s, 0.50) filter (where phase = 'during') as outside_p50_s,
    quantile_cont(outside_s, 0.50) filter (where phase = 'baseline') as outside_p50_s_before,
    quantile_cont(outside_s, 0.99) filter (where phase = 'during') as outside_p99_s,
    quantile_cont(outside_s, 0.99) filter (where phase = 'baseline') as outside_p99_s_before,
    steady_r2(case when phase = 'during' then outside_s end, prompt_tokens) as outside_prompt_ratio,
    steady_r2(case when phase = 'baseline' then outside_s end, prompt_tokens)
        as outside_prompt_ratio_before,
    quantile_cont(before_queue_s, 0.99) filter (where phase = 'during') as before_queue_p99_s,
    quantile_cont(before_queue_s, 0.99) filter (where phase = 'baseline') as before_queue_p99_s_before,
    1000
    * steady_slope(case when phase = 'during' then before_queue_s end, prompt_tokens)
        as before_queue_s_per_1k_tokens,
    1000
    * steady_slope(case when phase = 'baseline' then before_queue_s end, prompt_tokens)
        as before_queue_s_per_1k_tokens_before,
    steady_r2(case when phase = 'during' then before_queue_s end, prompt_tokens) as before_queue_prompt_ratio,
    steady_r2(case when phase = 'baseline' then before_queue_s end, prompt_tokens)
        as before_queue_prompt_ratio_before
from known
group by incident_id

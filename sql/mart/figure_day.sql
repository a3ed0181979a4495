-- One row per day that is reported, service and figure of it. Figures over the whole day, and of each signal
-- the hour in which it was highest (of hits, clock and prefill lowest), by the median of the hour's minutes.
--
-- day      -    the day, in UTC
-- service  -    service
-- figure   -    of the whole day: requests, prompt_tokens, output_tokens, measured, over_objective count;
--               latency_p99_s, latency_p50_s, ttft_p99_s, objective_s s; server_error_ratio,
--               client_gone_ratio, long_context_ratio, hit_ratio ratio 0-1. Of an hour: a
--               mart.signal_minute.signal, in its unit
-- span     -    day or hour
-- hour_at  UTC  start of that hour; null for the whole day
-- value    -    in the figure's unit

with of_day as (
    select
        day.day,
        request.service,
        count(*) as requests,
        sum(request.prompt_tokens)::double as prompt_tokens,
        sum(request.output_tokens)::double as output_tokens,
        count_if(request.counts_for_latency) as measured,
        count_if(request.counts_for_latency and request.duration_s > day.objective_s) as over_objective,
        any_value(day.objective_s) as objective_s,
        quantile_cont(request.duration_s, 0.99) filter (where request.counts_for_latency) as latency_p99_s,
        quantile_cont(request.duration_s, 0.50) filter (where request.counts_for_latency) as latency_p50_s,
        quantile_cont(request.ttft_s, 0.99) as ttft_p99_s,
        count_if(request.status >= 500) / nullif(count(request.status), 0) as server_error_ratio,
        count_if(request.status = 499) / nullif(count(request.status), 0) as client_gone_ratio,
        count_if(request.prompt_tokens >= length.long_from_tokens)
        / nullif(count(request.prompt_tokens), 0) as long_context_ratio
    from raw.day
    inner join norm.request as request
        on day.starts_at <= request.started_at and day.ends_at > request.started_at
    left join mart.prompt_length as length on request.service = length.service
    where not request.is_probe
    group by day.day, request.service
),

listed as (
    select
        day,
        service,
        unnest([
            'requests', 'prompt_tokens', 'output_tokens', 'measured', 'over_objective', 'objective_s',
            'latency_p99_s', 'latency_p50_s', 'ttft_p99_s', 'server_error_ratio', 'client_gone_ratio',
            'long_context_ratio'
        ]) as figure,
        unnest([
            requests, prompt_tokens, output_tokens, measured,
            case when objective_s is not null then over_objective end, objective_s,
            latency_p99_s, latency_p50_s, ttft_p99_s, server_error_ratio, client_gone_ratio,
            long_context_ratio
        ]) as value
    from of_day
),

hits as (
    select
        day.day,
        cache.service,
        steady_avg(cache.hit_ratio) as value
    from raw.day
    inner join mart.cache_minute as cache on day.starts_at <= cache.minute and day.ends_at > cache.minute
    where cache.hit_ratio is not null
    group by day.day, cache.service
),

of_hour as (
    select
        day.day,
        signal.service,
        signal.signal as figure,
        time_bucket(interval 1 hour, signal.minute) as hour_at,
        median(signal.value) as value
    from raw.day
    inner join mart.signal_minute as signal
        on day.starts_at <= signal.minute and day.ends_at > signal.minute
    group by day.day, signal.service, signal.signal, hour_at
    having count(*) >= 20 -- of fewer minutes an hour says little
),

worst as (
    select
        day,
        service,
        figure,
        hour_at,
        value
    from of_hour
    qualify
        row_number() over (
            partition by day, service, figure
            order by
                case
                    when figure in ('hit_ratio', 'sm_clock_mhz', 'prefill_tokens_per_s') then value
                    else -value
                end,
                hour_at
        ) = 1
)

select
    day,
    service,
    figure,
    'day' as span,
    null::timestamptz as hour_at,
    value::double as value
from listed
where value is not null

union all

select
    day,
    service,
    'hit_ratio' as figure,
    'day' as span,
    null::timestamptz as hour_at,
    value
from hits

union all

select
    day,
    service,
    figure,
    'hour' as span,
    hour_at,
    value
from worst
order by day, service, span, figure

-- One row per service and minute with prefix-cache figures.
--
-- minute           UTC        start of the minute
-- service          -          service
-- queries_tokens   tokens     prompt tokens looked up or taken in, by the engines' counters
-- hits_tokens      tokens     of these, found, by the engines' counters
-- hit_ratio        ratio 0-1  hits over queries, by the counters; else as the engines state it; else by spans
-- span_hit_ratio   ratio 0-1  cached over prompt tokens of the requests that arrived, by spans
-- short_hit_ratio  ratio 0-1  the same of requests that are not long (mart.prompt_length)
-- evictions        count      KV blocks evicted, if the engines say so

with counted as (
    select
        minute,
        service,
        steady_sum(queries_tokens) as queries_tokens,
        steady_sum(hits_tokens) as hits_tokens,
        steady_avg(stated_hit_ratio) as stated_hit_ratio,
        steady_sum(evictions) as evictions
    from mart.engine_minute
    group by minute, service
),

spanned as (
    select
        time_bucket(interval 1 minute, request.started_at) as minute,
        request.service,
        steady_sum(cached_tokens) / nullif(steady_sum(prompt_tokens), 0) as span_hit_ratio,
        steady_sum(case when prompt_tokens < long_from_tokens then cached_tokens end)
        / nullif(steady_sum(case when prompt_tokens < long_from_tokens then prompt_tokens end), 0)
            as short_hit_ratio
    from norm.request as request
    left join mart.prompt_length as length on request.service = length.service
    where cached_tokens is not null and prompt_tokens is not null
    group by minute, request.service
)

select
    coalesce(counted.minute, spanned.minute) as minute,
    coalesce(counted.service, spanned.service) as service,
    counted.queries_tokens,
    counted.hits_tokens,
    coalesce(
        counted.hits_tokens / nullif(counted.queries_tokens, 0),
        counted.stated_hit_ratio,
        spanned.span_hit_ratio
    ) as hit_ratio,
    spanned.span_hit_ratio,
    spanned.short_hit_ratio,
    counted.evictions
from counted
full outer join spanned on counted.minute = spanned.minute and counted.service = spanned.service
order by minute, service

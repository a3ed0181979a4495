-- One row per service and minute in which a request arrived: what was asked for.
--
-- minute              UTC        start of the minute
-- service             -          service that answered
-- requests            count      requests that arrived, probes left out
-- counted             count      of these, with a known prompt length
-- long_requests       count      of these, with a long prompt (mart.prompt_length)
-- long_context_ratio  ratio 0-1  long_requests over counted
-- prompt_tokens       tokens     prompts, summed
-- prompt_mean_tokens  tokens     prompt length, mean
-- prompt_max_tokens   tokens     prompt length, longest
-- output_tokens       tokens     outputs, summed
-- output_mean_tokens  tokens     output length, mean
-- short_p99_s         s          latency of the requests that are not long, 99th percentile

with sized as (
    select
        time_bucket(interval 1 minute, request.started_at) as minute,
        request.service,
        request.prompt_tokens,
        request.output_tokens,
        request.duration_s,
        request.counts_for_latency,
        request.prompt_tokens >= length.long_from_tokens as is_long
    from norm.request as request
    left join mart.prompt_length as length on request.service = length.service
    where not request.is_probe
)

select
    minute,
    service,
    count(*) as requests,
    count(prompt_tokens) as counted,
    count_if(is_long) as long_requests,
    count_if(is_long) / nullif(count(prompt_tokens), 0) as long_context_ratio,
    sum(prompt_tokens)::bigint as prompt_tokens,
    steady_avg(prompt_tokens) as prompt_mean_tokens,
    max(prompt_tokens) as prompt_max_tokens,
    sum(output_tokens)::bigint as output_tokens,
    steady_avg(output_tokens) as output_mean_tokens,
    quantile_cont(duration_s, 0.99) filter (where counts_for_latency and not is_long) as short_p99_s
from sized
group by minute, service
order by minute, service

-- One row per incident and client network (/24 of IPv4, /64 of IPv6) that sent requests in its baseline or
-- its window.
--
-- incident_id        -       incident
-- client_net         -       network
-- requests           count   requests during the incident
-- requests_expected  count   requests it would have sent at its baseline rate
-- long_requests      count   requests with a prompt of $long_context_tokens or more, during
-- long_expected      count   the same at its baseline rate
-- heavy_outputs      count   answers longer than the baseline's 99th percentile of output, during
-- heavy_expected     count   the same at its baseline rate
-- prompt_tokens      tokens  prompts during, summed
-- output_tokens      tokens  outputs during, summed
-- slow_requests      count   requests during slower than the baseline's 99th percentile of latency
-- clients            count   different addresses during

with limit_of as (
    select
        incident_id,
        quantile_cont(duration_s, 0.99) filter (where counts_for_latency) as limit_s,
        quantile_cont(output_tokens, 0.99) as limit_tokens
    from evidence.request_phase
    where phase = 'baseline'
    group by incident_id
),

stretch as (
    select
        incident_id,
        max(minutes) filter (where phase = 'during') / max(minutes) filter (where phase = 'baseline') as times
    from evidence.phase
    group by incident_id
)

select
    request.incident_id,
    request.client_net,
    count_if(request.phase = 'during') as requests,
    count_if(request.phase = 'baseline') * any_value(stretch.times) as requests_expected,
    count_if(request.is_long and request.phase = 'during') as long_requests,
    count_if(request.is_long and request.phase = 'baseline') * any_value(stretch.times) as long_expected,
    count_if(request.output_tokens > limit_of.limit_tokens and request.phase = 'during') as heavy_outputs,
    count_if(request.output_tokens > limit_of.limit_tokens and request.phase = 'baseline')
    * any_value(stretch.times) as heavy_expected,
    sum(request.prompt_tokens) filter (where request.phase = 'during')::bigint as prompt_tokens,
    sum(request.output_tokens) filter (where request.phase = 'during')::bigint as output_tokens,
    count_if(
        request.duration_s > limit_of.limit_s and request.counts_for_latency and request.phase = 'during'
    )
        as slow_requests,
    count(distinct request.client_ip) filter (where request.phase = 'during') as clients
from evidence.request_phase as request
left join limit_of on request.incident_id = limit_of.incident_id
left join stretch on request.incident_id = stretch.incident_id
where request.client_net is not null and request.phase in ('baseline', 'during')
group by request.incident_id, request.client_net

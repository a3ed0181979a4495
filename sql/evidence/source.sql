-- One row per incident and client that sent requests in its baseline or its window. A client is an IPv4
-- address, or the /64 of an IPv6 one, which is what a subscriber has.
--
-- incident_id        -        incident
-- client             -        address or /64 network
-- client_net         -        its network, the /24 of IPv4 or the /64 of IPv6
-- is_ipv4            boolean  an IPv4 address
-- client_bits        -        the address as a number; of IPv6 the first 64 bits
-- requests           count    requests during the incident
-- requests_expected  count    requests it would have sent at its baseline rate
-- long_requests      count    requests with a long prompt, during
-- long_expected      count    the same at its baseline rate
-- heavy_outputs      count    answers longer than the baseline's 99th percentile of output, during
-- heavy_expected     count    the same at its baseline rate
-- prompt_tokens      tokens   prompts during, summed
-- long_tokens        tokens   those of long_requests
-- output_tokens      tokens   outputs during, summed
-- heavy_tokens       tokens   those of heavy_outputs
-- slow_requests      count    requests during slower than the baseline's 99th percentile of latency

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
),

request as (
    select
        *,
        (client_ip_key >> 32) = 65535::uhugeint as is_ipv4
    from evidence.request_phase
    where client_ip_key is not null and phase in ('baseline', 'during')
)

select
    request.incident_id,
    case when request.is_ipv4 then request.client_ip else request.client_net end as client,
    any_value(request.client_net) as client_net,
    any_value(request.is_ipv4) as is_ipv4,
    any_value(
        case
            when request.is_ipv4 then request.client_ip_key & 4294967295::uhugeint
            else request.client_ip_key >> 64
        end
    )::ubigint as client_bits,
    count_if(request.phase = 'during') as requests,
    count_if(request.phase = 'baseline') * any_value(stretch.times) as requests_expected,
    count_if(request.is_long and request.phase = 'during') as long_requests,
    count_if(request.is_long and request.phase = 'baseline') * any_value(stretch.times) as long_expected,
    count_if(request.output_tokens > limit_of.limit_tokens and request.phase = 'during') as heavy_outputs,
    count_if(request.output_tokens > limit_of.limit_tokens and request.phase = 'baseline')
    * any_value(stretch.times) as heavy_expected,
    sum(request.prompt_tokens) filter (where request.phase = 'during')::bigint as prompt_tokens,
    sum(request.prompt_tokens) filter (where request.is_long and request.phase = 'during')::bigint
        as long_tokens,
    sum(request.output_tokens) filter (where request.phase = 'during')::bigint as output_tokens,
    sum(request.output_tokens) filter (
        where request.output_tokens > limit_of.limit_tokens and request.phase = 'during'
    )::bigint as heavy_tokens,
    count_if(
        request.duration_s > limit_of.limit_s and request.counts_for_latency and request.phase = 'during'
    )
        as slow_requests
from request
left join limit_of on request.incident_id = limit_of.incident_id
left join stretch on request.incident_id = stretch.incident_id
group by request.incident_id, client

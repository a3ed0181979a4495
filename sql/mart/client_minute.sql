-- One row per service, minute and client network (/24 of IPv4, /64 of IPv6) from which a request arrived.
--
-- minute         UTC     start of the minute
-- service        -       service that answered
-- client_net     -       client network; null for requests whose client is not known
-- requests       count   requests that arrived, probes left out
-- clients        count   different addresses among them
-- long_requests  count   requests with a long prompt (mart.prompt_length)
-- prompt_tokens  tokens  prompts, summed
-- output_tokens  tokens  outputs, summed
-- seconds        s       latency, summed

select
    time_bucket(interval 1 minute, request.started_at) as minute,
    request.service,
    ip_net(request.client_ip_key) as client_net,
    count(*) as requests,
    count(distinct request.client_ip) as clients,
    count_if(request.prompt_tokens >= length.long_from_tokens) as long_requests,
    sum(request.prompt_tokens)::bigint as prompt_tokens,
    sum(request.output_tokens)::bigint as output_tokens,
    steady_sum(request.duration_s) as seconds
from norm.request as request
left join mart.prompt_length as length on request.service = length.service
where not request.is_probe
group by minute, request.service, client_net
order by minute, request.service, client_net

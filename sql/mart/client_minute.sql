-- One row per service, minute and client network (/24 of IPv4, /64 of IPv6) from which a request arrived.
--
-- minute         UTC     start of the minute
-- service        -       service that answered
-- client_net     -       client network; null for requests whose client is not known
-- requests       count   requests that arrived, probes left out
-- clients        count   different addresses among them
-- long_requests  count   requests with a prompt of $long_context_tokens or more
-- prompt_tokens  tokens  prompts, summed
-- output_tokens  tokens  outputs, summed
-- seconds        s       latency, summed

select
    time_bucket(interval 1 minute, started_at) as minute,
    service,
    ip_net(client_ip_key) as client_net,
    count(*) as requests,
    count(distinct client_ip) as clients,
    count_if(prompt_tokens >= $long_context_tokens) as long_requests,
    sum(prompt_tokens)::bigint as prompt_tokens,
    sum(output_tokens)::bigint as output_tokens,
    steady_sum(duration_s) as seconds
from norm.request
where not is_probe
group by minute, service, client_net
order by minute, service, client_net

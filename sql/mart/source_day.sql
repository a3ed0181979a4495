-- One row per day that is reported, service and client network (/24 of IPv4, /64 of IPv6) that sent at least
-- $day_source_ratio of its requests or of its tokens.
--
-- day            -          the day, in UTC
-- service        -          service
-- client_net     -          client network
-- requests       count      requests that arrived
-- total_tokens   tokens     prompts and outputs, summed; null: not known
-- request_ratio  ratio 0-1  share of the service's requests of known client
-- token_ratio    ratio 0-1  the same of its tokens

with summed as (
    select
        day.day,
        client.service,
        client.client_net,
        sum(client.requests)::bigint as requests,
        (coalesce(sum(client.prompt_tokens), 0) + coalesce(sum(client.output_tokens), 0))::bigint as tokens
    from raw.day
    inner join mart.client_minute as client on day.starts_at <= client.minute and day.ends_at > client.minute
    where client.client_net is not null
    group by day.day, client.service, client.client_net
),

shared as (
    select
        *,
        requests / sum(requests) over (partition by day, service) as request_ratio,
        tokens / nullif(sum(tokens) over (partition by day, service), 0) as token_ratio
    from summed
)

select
    day,
    service,
    client_net,
    requests,
    case when token_ratio is not null then tokens end as total_tokens,
    request_ratio,
    token_ratio
from shared
where request_ratio >= $day_source_ratio or token_ratio >= $day_source_ratio
order by day, service, client_net

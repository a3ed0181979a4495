-- One row per engine replica that answered requests.
--
-- replica   -      pod or instance
-- service   -      service it answered for most
-- host      -      machine it ran on last, if its spans say so
-- requests  count  requests it answered
-- first_at  UTC    first of them arrived
-- last_at   UTC    last of them arrived

select
    replica,
    mode(service order by service) as service,
    arg_max(host, (started_at, host)) as host,
    count(*) as requests,
    min(started_at) as first_at,
    max(started_at) as last_at
from norm.request
-- an upstream that refuses or times out is logged as well
where replica is not null and (has_engine_span or coalesce(status, 200) < 400)
group by replica

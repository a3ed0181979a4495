-- One row per service and pair of machines whose spans stand in one request: how far their clocks are apart.
--
-- service        -      service
-- gateway_host   -      machine of the gateway span
-- engine_host    -      machine of the engine span
-- requests       count  requests with both
-- offset_low_s   s      clock of the engine's machine less that of the gateway's, at least
-- offset_high_s  s      the same, at most; less than offset_low_s where the clocks moved meanwhile

-- A request cannot begin at the engine before it began at the gateway, nor end there after it: by each of
-- them the offset lies between the difference of the ends and that of the starts. One request in a hundred on
-- either side is left out, as an answer may be cut off and a span ended late.
select
    request.service,
    gateway.host as gateway_host,
    engine.host as engine_host,
    count(*) as requests,
    quantile_cont((epoch_us(engine.finished_at) - epoch_us(gateway.finished_at)) / 1e6, 0.99)
        as offset_low_s,
    quantile_cont((epoch_us(engine.started_at) - epoch_us(gateway.started_at)) / 1e6, 0.01)
        as offset_high_s
from norm.request_part as part
inner join norm.span as gateway on part.gateway_key = gateway.span_key
inner join norm.span as engine on part.engine_key = engine.span_key
inner join norm.request
    on
        request.request_key
        = coalesce(gateway.trace_id, gateway.file_id || ':' || gateway.line) || '/' || gateway.span_id
where
    gateway.host is not null
    and engine.host is not null
    and part.engine_attempts = 1
    and coalesce(request.status, 200) < 400
group by request.service, gateway_host, engine_host
order by request.service, gateway_host, engine_host

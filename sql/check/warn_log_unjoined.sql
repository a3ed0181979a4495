-- Access log lines find the spans of the same request, by trace or request id.
--
-- For the requests that do not, latency is as exact as the log's clock, and the engine's share of it is not
-- known.

select
    service,
    count_if(not has_gateway_span and not has_engine_span) as unjoined,
    count(*) as logged
from norm.request
where
    has_log_line
    and not is_probe
    and exists (
        select 1 from norm.request as any_request
        where any_request.has_gateway_span or any_request.has_engine_span
    )
group by service
having count_if(not has_gateway_span and not has_engine_span) > 0.01 * count(*)

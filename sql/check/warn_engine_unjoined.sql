-- Engine spans find the gateway's span or log line of the same request, by trace or request id.
--
-- For the requests that do not, the total time is the engine's alone, and the client is not known.

select
    service,
    count_if(not has_gateway_span and not has_log_line) as unjoined,
    count(*) as engine_requests
from norm.request
where
    has_engine_span and exists (
        select 1 from norm.request as any_request
        where any_request.has_gateway_span or any_request.has_log_line
    )
group by service
having count_if(not has_gateway_span and not has_log_line) > 0.01 * count(*)

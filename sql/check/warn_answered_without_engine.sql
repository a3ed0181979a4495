-- Requests that were answered well are known to the engine as well as to the gateway.
--
-- For those that are not, token counts, queue and decode times are missing; sampled traces look like this.

select
    service,
    count_if(not has_engine_span) as without_engine,
    count(*) as answered
from norm.request
where
    status between 200 and 299
    and not is_probe
    and service in (
        select any_request.service from norm.request as any_request
        where any_request.has_engine_span
    )
group by service
having count_if(not has_engine_span) > 0.05 * count(*)

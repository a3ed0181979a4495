-- Every gateway span that is not behind another, every engine span and every log line stands in exactly one
-- request.
--
-- Counts and latencies of requests would be wrong.

with expected as (
    select
        (
            select count(*) from norm.span
            where role = 'gateway'
        ) as gateway_spans,
        (
            select count(*) from norm.span
            where role = 'engine'
        ) as engine_spans,
        (select count(*) from raw.access) as log_lines
),

found as (
    select
        sum(gateway_spans) as gateway_spans,
        sum(engine_attempts) as engine_spans,
        sum(log_lines) as log_lines
    from norm.request
)

select
    expected.gateway_spans,
    found.gateway_spans as gateway_spans_in_requests,
    expected.engine_spans,
    found.engine_spans as engine_spans_in_requests,
    expected.log_lines,
    found.log_lines as log_lines_in_requests
from expected
cross join found
where
    expected.gateway_spans != coalesce(found.gateway_spans, 0)
    or expected.engine_spans != coalesce(found.engine_spans, 0)
    or expected.log_lines != coalesce(found.log_lines, 0)

-- One row per log record.
--
-- logged_at        UTC  when it was written
-- severity_number  -    OTLP severity: 9 info, 13 warn, 17 error, 21 fatal
-- severity         -    severity as written
-- body             -    text
-- service          -    service that wrote it
-- host             -    machine
-- replica          -    pod or instance
-- trace_id         -    trace it belongs to
-- span_id          -    span it belongs to
-- file_id          -    meta.input.file_id
-- line             -    line in that file, 1-based

select
    log.at as logged_at,
    severity_number,
    severity,
    body,
    service,
    host,
    replica,
    trace_id,
    span_id,
    file_id,
    line
from raw.log

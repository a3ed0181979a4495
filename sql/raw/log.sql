-- One row per log record as it was read.
--
-- file_id          -    meta.input.file_id
-- line             -    line in that file, 1-based
-- at               UTC  when it was logged
-- severity_number  -    OTLP SeverityNumber, 1 to 24; 17 and above are errors
-- severity         -    severity as written
-- body             -    what it says
-- service          -    service.name of the resource
-- host             -    machine
-- replica          -    pod or instance
-- trace_id         -    trace, 32 lower hex digits
-- span_id          -    span, 16 lower hex digits

create table if not exists raw.log (
    file_id uinteger not null,
    line ubigint not null,
    "at" timestamptz,  -- noqa: RF06
    severity_number utinyint,
    severity varchar,
    body varchar,
    service varchar,
    host varchar,
    replica varchar,
    trace_id varchar,
    span_id varchar
)

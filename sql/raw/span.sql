-- One row per span as it was read.
--
-- file_id            -         meta.input.file_id
-- line               -         line in that file, 1-based
-- trace_id           -         trace, 32 lower hex digits; null if absent or all zero
-- span_id            -         span, 16 lower hex digits
-- parent_span_id     -         span that it is part of; null for a root
-- name               -         span name
-- span_kind          -         OTLP: 0 unspecified, 1 internal, 2 server, 3 client, 4 producer, 5 consumer
-- started_at         UTC       start, by the clock of its host
-- finished_at        UTC       end, by the same clock
-- duration_s         s         end less start, from the nanoseconds
-- status_code        -         OTLP StatusCode: 0 unset, 1 ok, 2 error
-- status_message     -         what the span says of its error
-- scope              -         instrumentation scope
-- service            -         service.name of the resource
-- host               -         machine
-- replica            -         pod or instance
-- request_id         -         request id as written
-- model              -         model asked for or answering
-- prompt_tokens      tokens    prompt length, cached tokens included
-- cached_tokens      tokens    prompt tokens found in the prefix cache
-- output_tokens      tokens    tokens generated
-- max_tokens         tokens    output limit asked for
-- ttft_s             s         arrival at the engine to first token
-- queue_s            s         wait in the engine's queue
-- prefill_s          s         first schedule to first token
-- decode_s           s         first token to last token
-- inference_s        s         first schedule to last token
-- e2e_s              s         arrival at the engine to last token
-- http_method        -         HTTP method
-- path               -         URL path
-- http_status        -         HTTP status answered
-- client_address     -         client as the span states it
-- peer_address       -         address at the other end of the connection
-- forwarded_for      -         X-Forwarded-For as received
-- user_agent         -         User-Agent as received
-- is_streaming       boolean   whether the answer was streamed
-- tenant             -         tenant, team or key label

create table if not exists raw.span (
    file_id uinteger not null,
    line ubigint not null,
    trace_id varchar,
    span_id varchar,
    parent_span_id varchar,
    name varchar,
    span_kind utinyint,
    started_at timestamptz,
    finished_at timestamptz,
    duration_s double,
    status_code utinyint,
    status_message varchar,
    scope varchar,
    service varchar,
    host varchar,
    replica varchar,
    request_id varchar,
    model varchar,
    prompt_tokens bigint,
    cached_tokens bigint,
    output_tokens bigint,
    max_tokens bigint,
    ttft_s double,
    queue_s double,
    prefill_s double,
    decode_s double,
    inference_s double,
    e2e_s double,
    http_method varchar,
    path varchar,
    http_status smallint,
    client_address varchar,
    peer_address varchar,
    forwarded_for varchar,
    user_agent varchar,
    is_streaming boolean,
    tenant varchar
)

-- One row per span, repeated exports of the same span taken out.
--
-- span_key        -        key of the row within this file
-- trace_id        -        trace, 32 hex digits; null if the span carries none
-- span_id         -        span, 16 hex digits
-- parent_span_id  -        span that caused this one; null for a root
-- role            -        gateway, engine or other, by what its attributes say it measures
-- name            -        operation
-- span_kind       -        OTLP kind: 1 internal, 2 server, 3 client, 4 producer, 5 consumer
-- service         -        resource attribute service.name
-- host            -        machine
-- replica         -        pod or instance
-- scope           -        instrumentation scope
-- started_at      UTC      start, by the clock of its host
-- finished_at     UTC      end, by the clock of its host
-- duration_s      s        end minus start
-- status_code     -        OTLP status: 0 unset, 1 ok, 2 error
-- request_id      -        request id as the span states it
-- model           -        model asked for or answered
-- prompt_tokens   tokens   prompt length, cached tokens included
-- cached_tokens   tokens   prompt tokens found in the prefix cache
-- output_tokens   tokens   tokens generated
-- max_tokens      tokens   output limit asked for
-- ttft_s          s        arrival at the engine to first token
-- queue_s         s        wait in the engine's queue
-- prefill_s       s        first schedule to first token
-- decode_s        s        first token to last token
-- inference_s     s        first schedule to last token
-- e2e_s           s        arrival at the engine to last token
-- http_method     -        HTTP method
-- path            -        URL path
-- http_status     -        HTTP status answered
-- client_address  -        client as the producer resolved it
-- peer_address    -        address at the other end of the connection
-- forwarded_for   -        X-Forwarded-For as received
-- user_agent      -        User-Agent as received
-- is_streaming    boolean  whether the answer was streamed
-- tenant          -        tenant, team or key label if the producer states one
-- file_id         -        meta.input.file_id
-- line            -        line in that file, 1-based

-- Two million spans: 0.7 s to look for the few that are repeated, 5 s for a window over all columns of all.
with suspect as (
    select
        trace_id,
        span_id
    from raw.span
    where trace_id is not null
    group by trace_id, span_id
    having count(*) > 1
),

-- shippers repeat batches after a failed acknowledgement; a span id alone is not unique (shared client and
-- server spans)
repeated as (
    select span.rowid as row_no
    from raw.span
    inner join suspect on span.trace_id = suspect.trace_id and span.span_id = suspect.span_id
    qualify
        row_number() over (
            partition by
                span.trace_id, span.span_id, span.span_kind, span.service, span.name, span.started_at
            order by span.file_id, span.line, span.finished_at
        ) > 1
),

-- who leaves cached tokens out of the prompt's, as Anthropic's API does: more often than not, more came from
-- the cache than the prompt is said to have had
leaving_out as (
    select
        service,
        scope,
        model
    from raw.span
    where cached_tokens > 0 and prompt_tokens is not null
    group by service, scope, model
    having 2 * count_if(cached_tokens > prompt_tokens) > count(*)
)

select
    hash(file_id, line, trace_id, span_id, span_kind, service, name, started_at) as span_key,
    trace_id,
    span_id,
    parent_span_id,
    case
        when coalesce(queue_s, prefill_s, decode_s, inference_s) is not null then 'engine'
        when name = 'llm_request' then 'engine'
        when
            coalesce(http_method, path, http_status::varchar) is not null and span_kind in (0, 2)
            then 'gateway'
        -- a gateway, too, may state its time to the first token; an engine alone states stages
        when coalesce(ttft_s, e2e_s) is not null then 'engine'
        when coalesce(prompt_tokens, output_tokens) is not null and span_kind in (0, 2) then 'engine'
        else 'other'
    end as role,
    name,
    span_kind,
    service,
    host,
    replica,
    scope,
    started_at,
    finished_at,
    duration_s,
    status_code,
    request_id,
    model,
    case
        when
            cached_tokens > 0
            and exists (
                from leaving_out
                where
                    leaving_out.service is not distinct from span.service
                    and leaving_out.scope is not distinct from span.scope
                    and leaving_out.model is not distinct from span.model
            )
            then prompt_tokens + cached_tokens
        else prompt_tokens
    end as prompt_tokens,
    cached_tokens,
    output_tokens,
    max_tokens,
    ttft_s,
    queue_s,
    prefill_s,
    decode_s,
    inference_s,
    e2e_s,
    http_method,
    path,
    http_status,
    client_address,
    peer_address,
    forwarded_for,
    user_agent,
    is_streaming,
    tenant,
    file_id,
    line
from raw.span
where span.rowid not in (select repeated.row_no from repeated)

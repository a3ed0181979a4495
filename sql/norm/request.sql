-- One row per request, put together from its gateway span, its last engine span and its log line, whichever are there.
--
-- request_key         -        key of the row within this file
-- request_id          -        request id, without the engine's chatcmpl- or cmpl- prefix
-- trace_id            -        trace, 32 hex digits
-- service             -        service that answered
-- gateway_service     -        service.name of the gateway span
-- engine_service      -        service.name of the engine span
-- model               -        model asked for
-- replica             -        engine replica that answered, else the upstream address
-- host                -        machine of that replica
-- started_at          UTC      arrival: at the gateway where it was recorded, else by the log, else at the
--                              engine
-- finished_at         UTC      end, by the same clock
-- duration_s          s        total time at the gateway (span, else log), else of the engine's span
-- ttft_s              s        arrival at the engine to first token
-- queue_s             s        wait in the engine's queue
-- prefill_s           s        first schedule to first token
-- decode_s            s        first token to last token
-- engine_s            s        arrival at the engine to last token
-- outside_s           s        total time less the engine's: gateway, network and front end, free of clock
--                              skew
-- engine_lag_s        s        start at the engine less start at the gateway: travel time and clock offset
--                              together
-- tpot_s              s        decode time per token after the first
-- prompt_tokens       tokens   prompt length, cached tokens included
-- cached_tokens       tokens   prompt tokens found in the prefix cache
-- output_tokens       tokens   tokens generated
-- max_tokens          tokens   output limit asked for
-- status              -        HTTP status answered; 499: the client went away
-- client_ip           -        client behind the proxies, canonical text
-- client_ip_key       -        the same as a number (IPv4 as ::ffff:0:0/96)
-- method              -        HTTP method
-- path                -        URL path
-- user_agent          -        User-Agent as received
-- is_streaming        boolean  whether the answer was streamed
-- tenant              -        tenant, team or key label
-- engine_attempts     count    engine spans of this request
-- log_lines           count    access log lines of this request
-- has_gateway_span    boolean  a gateway span was found
-- has_engine_span     boolean  an engine span was found
-- has_log_line        boolean  an access log line was found
-- is_probe            boolean  a health check or metrics scrape, left out of every analysis
-- counts_for_latency  boolean  has a duration, is no probe, and was not refused (4xx but 499)

with gateway as (
    select
        span.*,
        span.trace_id || '/' || span.span_id as key
    from norm.span
    left join norm.span as parent
        on
            span.trace_id = parent.trace_id
            and span.parent_span_id = parent.span_id
            and parent.role = 'gateway'
    -- a gateway behind a gateway is part of the outer one's request
    where span.role = 'gateway' and parent.span_id is null
),

root as (
    select
        trace_id,
        min(key) as key
    from gateway
    where trace_id is not null
    group by trace_id
    having count(*) = 1
),

engine_span as (
    select
        span.*,
        regexp_replace(regexp_replace(span.request_id, '^(chatcmpl|cmpl)-', ''), '-0$', '') as bare_id,
        coalesce(
            parent.key,
            root.key,
            span.trace_id || '/' || span.span_id,
            span.file_id || ':' || span.line || '/' || span.span_id
        ) as key
    from norm.span
    left join gateway as parent on span.trace_id = parent.trace_id and span.parent_span_id = parent.span_id
    left join root on span.trace_id = root.trace_id
    where span.role = 'engine'
),

engine as (
    select
        *,
        count(*) over (partition by key) as attempts
    from engine_span
    -- a gateway that tried several engines answered with the last one
    qualify row_number() over (partition by key order by started_at desc, span_id) = 1
),

-- every id by which a log line may know a request; ids that fit several requests join nothing
known_as as (
    select
        id,
        min(key) as key
    from (
        select
            trace_id as id,
            key
        from root
        union
        select
            engine.bare_id as id,
            engine.key
        from engine
        union
        select
            gateway.request_id as id,
            gateway.key
        from gateway
        union
        select
            engine.trace_id as id,
            engine.key
        from engine
        left join root on engine.trace_id = root.trace_id
        where root.key is null
    )
    where id is not null
    group by id
    having count(distinct key) = 1
),

log_line as (
    select
        access.*,
        lower(replace(access.request_id, '-', '')) as plain_id,
        coalesce(by_trace.key, by_id.key, by_plain_id.key) as found_key
    from raw.access
    left join known_as as by_trace on access.trace_id = by_trace.id
    left join known_as as by_id on access.request_id = by_id.id
    left join known_as as by_plain_id on lower(replace(access.request_id, '-', '')) = by_plain_id.id
),

log as (
    select
        *,
        coalesce(found_key, file_id || ':' || line) as key,
        count(*) over (partition by coalesce(found_key, file_id || ':' || line)) as lines
    from log_line
    -- sidecars on both ends log a request twice: the longer one saw more of it
    qualify
        row_number() over (
            partition by coalesce(found_key, file_id || ':' || line)
            order by duration_s desc nulls last, file_id, line
        ) = 1
),

keys as (
    select key from gateway
    union
    select key from engine
    union
    select key from log
),

joined as (
    select
        keys.key as request_key,
        coalesce(engine.bare_id, gateway.request_id, log.request_id) as request_id,
        coalesce(gateway.trace_id, engine.trace_id, log.trace_id) as trace_id,
        gateway.service as gateway_service,
        engine.service as engine_service,
        coalesce(engine.model, gateway.model, log.model) as model,
        coalesce(engine.replica, log.upstream_address) as replica,
        engine.host,
        coalesce(gateway.started_at, log.started_at, engine.started_at, log.finished_at) as started_at,
        coalesce(gateway.finished_at, log.finished_at, engine.finished_at) as finished_at,
        coalesce(gateway.duration_s, log.duration_s, engine.duration_s) as duration_s,
        coalesce(engine.ttft_s, log.ttft_s) as ttft_s,
        engine.queue_s,
        -- vLLM before V1 states no stages: the stages follow from queue, first token and total
        coalesce(engine.prefill_s, greatest(engine.ttft_s - engine.queue_s, 0)) as prefill_s,
        coalesce(engine.decode_s, greatest(coalesce(engine.e2e_s, engine.duration_s) - engine.ttft_s, 0)) as decode_s,
        coalesce(engine.e2e_s, engine.duration_s) as engine_s,
        coalesce(gateway.duration_s, log.duration_s) - coalesce(engine.e2e_s, engine.duration_s) as outside_s,
        epoch(engine.started_at) - epoch(gateway.started_at) as engine_lag_s,
        coalesce(engine.prompt_tokens, gateway.prompt_tokens, log.prompt_tokens) as prompt_tokens,
        coalesce(engine.cached_tokens, gateway.cached_tokens, log.cached_tokens) as cached_tokens,
        coalesce(engine.output_tokens, gateway.output_tokens, log.output_tokens) as output_tokens,
        coalesce(engine.max_tokens, gateway.max_tokens) as max_tokens,
        coalesce(gateway.http_status, log.status) as status,
        coalesce(log.peer_address, gateway.peer_address, gateway.client_address) as peer_address,
        coalesce(log.forwarded_for, gateway.forwarded_for, '') as forwarded_for,
        log.peer_address is null as is_peer_from_span,
        gateway.client_address as span_client_address,
        coalesce(gateway.http_method, log.method) as method,
        coalesce(gateway.path, log.path) as path,
        coalesce(gateway.user_agent, log.user_agent) as user_agent,
        coalesce(engine.is_streaming, gateway.is_streaming) as is_streaming,
        coalesce(gateway.tenant, engine.tenant) as tenant,
        coalesce(engine.attempts, 0) as engine_attempts,
        coalesce(log.lines, 0) as log_lines,
        gateway.key is not null as has_gateway_span,
        engine.key is not null as has_engine_span,
        log.key is not null as has_log_line,
        log.host_header
    from keys
    left join gateway on keys.key = gateway.key
    left join engine on keys.key = engine.key
    left join log on keys.key = log.key
),

probed as (
    select
        *,
        not has_engine_span
        and (
            coalesce(
                regexp_matches(lower(path), '^/(health|healthz|livez|readyz?|ping|metrics|version|-/.*)/?$'),
                false
            )
            or coalesce(regexp_matches(user_agent, '^(kube-probe|Prometheus|ELB-HealthChecker|GoogleHC)'), false)
        ) as is_probe
    from joined
),

-- log lines without spans (sampled traces) belong to the only service there is; with several they are named by host
only_service as (
    select min(service) as service
    from norm.service_name
    having count(distinct service) = 1
)

select
    joined.request_key,
    joined.request_id,
    joined.trace_id,
    coalesce(service_name.service, only_service.service, joined.host_header, 'unnamed') as service,
    joined.gateway_service,
    joined.engine_service,
    joined.model,
    joined.replica,
    joined.host,
    joined.started_at,
    joined.finished_at,
    joined.duration_s,
    joined.ttft_s,
    joined.queue_s,
    joined.prefill_s,
    joined.decode_s,
    joined.engine_s,
    joined.outside_s,
    joined.engine_lag_s,
    case when joined.output_tokens > 1 then joined.decode_s / (joined.output_tokens - 1) end as tpot_s,
    joined.prompt_tokens,
    joined.cached_tokens,
    joined.output_tokens,
    joined.max_tokens,
    joined.status,
    -- a gateway that states the client has resolved the header itself; used only where the connection is not recorded
    case
        when joined.is_peer_from_span and joined.span_client_address is not null then stated.canonical
        else client.client_ip
    end as client_ip,
    case
        when joined.is_peer_from_span and joined.span_client_address is not null
            then (stated.key_hi::uhugeint << 64) | stated.key_lo::uhugeint
        else client.client_ip_key
    end as client_ip_key,
    joined.method,
    joined.path,
    joined.user_agent,
    joined.is_streaming,
    joined.tenant,
    joined.engine_attempts::integer as engine_attempts,
    joined.log_lines::integer as log_lines,
    joined.has_gateway_span,
    joined.has_engine_span,
    joined.has_log_line,
    joined.is_probe,
    joined.duration_s is not null
    and not joined.is_probe
    and not coalesce(joined.status between 400 and 498, false) as counts_for_latency
from probed as joined
left join norm.service_name
    on
        coalesce(joined.gateway_service, '') = service_name.gateway_service
        and coalesce(joined.engine_service, '') = service_name.engine_service
        and coalesce(joined.gateway_service, joined.engine_service) is not null
left join only_service on true
left join norm.client
    on joined.peer_address = client.peer_address and joined.forwarded_for = client.forwarded_for
left join raw.address as stated on joined.span_client_address = stated.text
order by joined.started_at, joined.request_key

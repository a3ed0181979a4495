-- One row per request, put together from its gateway span, its last engine span and its log line, whichever
-- are there.
--
-- request_key         -        key of the row within this file
-- request_id          -        request id, without the engine's chatcmpl- or cmpl- prefix
-- trace_id            -        trace, 32 hex digits
-- service             -        service that answered
-- gateway_service     -        service.name of the gateway span
-- engine_service      -        service.name of the engine span
-- model               -        model asked for
-- replica             -        engine replica that answered, by its span; else the one that its upstream
--                              address stands for in other requests; else that address
-- host                -        machine of that replica
-- started_at          UTC      arrival: at the gateway where it was recorded, else by the log, else at the
--                              engine
-- finished_at         UTC      end, by the same clock
-- duration_s          s        total time at the gateway (span, else log), else of the engine's span
-- ttft_s              s        arrival at the engine to first token; else as the gateway or its log has it
-- queue_s             s        wait in the engine's queue
-- prefill_s           s        first schedule to first token
-- decode_s            s        first token to last token
-- engine_s            s        arrival at the engine to last token
-- engine_front_s      s        time in the engine's process before its queue, where it tells its stages
-- outside_s           s        total time less the engine's: gateway, network and front end, free of clock
--                              skew
-- engine_lag_s        s        start at the engine less start at the gateway: travel time and clock offset
--                              together
-- tpot_s              s        decode time per token after the first
-- prompt_tokens       tokens   prompt length, cached tokens included
-- cached_tokens       tokens   prompt tokens found in the prefix cache
-- block_hashes        -        one for each block of the prompt, in order: equal ones stand for the same
--                              tokens, with the same before them
-- block_size_tokens   tokens   tokens in such a block; the last one may hold fewer
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
-- gateway_spans       count    gateway spans of this request; more than one where gateways stand in a row
-- engine_attempts     count    engine spans of this request
-- log_lines           count    access log lines of this request
-- has_gateway_span    boolean  a gateway span was found
-- has_engine_span     boolean  an engine span was found
-- has_log_line        boolean  an access log line was found
-- is_probe            boolean  a health check or metrics scrape, left out of every analysis
-- counts_for_latency  boolean  has a duration, is no probe, and was not refused (4xx but 499)

-- One wide join after the other, each materialised: DuckDB puts one join that exceeds its memory on disk, but
-- not several of one pipeline. A joined span travels as a struct, which the linter takes for a table.
-- noqa: disable=RF01
with -- an upstream address that stands for one replica in all requests that know both
upstream as (
    select
        access.upstream_address,
        min(span.replica) as replica
    from norm.request_part as part
    inner join norm.span on part.engine_key = span.span_key
    inner join raw.access on part.log_file_id = access.file_id and part.log_line = access.line
    where access.upstream_address is not null
    group by access.upstream_address
    having min(span.replica) = max(span.replica)
),

hashed as (
    select
        file_id,
        line,
        block_hashes,
        block_size_tokens
    from raw.access
    where block_hashes is not null
),

fronted as materialized (
    select
        part.*,
        gateway
    from norm.request_part as part
    left join norm.span as gateway on part.gateway_key = gateway.span_key and gateway.role = 'gateway'
),

served as materialized (
    select
        part.*,
        engine
    from fronted as part
    left join norm.span as engine on part.engine_key = engine.span_key and engine.role = 'engine'
),

joined as materialized (
    select
        coalesce(
            coalesce(gateway.trace_id, gateway.file_id || ':' || gateway.line) || '/' || gateway.span_id,
            coalesce(engine.trace_id, engine.file_id || ':' || engine.line) || '/' || engine.span_id,
            log.file_id || ':' || log.line
        ) as request_key,
        coalesce(
            regexp_replace(regexp_replace(engine.request_id, '^(chatcmpl|cmpl)-', ''), '-0$', ''),
            gateway.request_id,
            log.request_id
        ) as request_id,
        coalesce(gateway.trace_id, engine.trace_id, log.trace_id) as trace_id,
        gateway.service as gateway_service,
        engine.service as engine_service,
        coalesce(engine.model, gateway.model, log.model) as model,
        coalesce(engine.replica, upstream.replica, log.upstream_address) as replica,
        engine.host,
        coalesce(gateway.started_at, log.started_at, engine.started_at, log.finished_at) as started_at,
        coalesce(gateway.finished_at, log.finished_at, engine.finished_at) as finished_at,
        coalesce(gateway.duration_s, log.duration_s, engine.duration_s) as duration_s,
        coalesce(engine.ttft_s, gateway.ttft_s, log.ttft_s) as ttft_s,
        engine.queue_s,
        -- vLLM before V1 states no stages: the stages follow from queue, first token and total
        coalesce(
            engine.prefill_s,
            case
                when engine.ttft_s >= engine.queue_s then engine.ttft_s - engine.queue_s
                when engine.ttft_s < engine.queue_s then 0
            end
        ) as prefill_s,
        coalesce(
            engine.decode_s,
            case
                when coalesce(engine.e2e_s, engine.duration_s) >= engine.ttft_s
                    then coalesce(engine.e2e_s, engine.duration_s) - engine.ttft_s
                when coalesce(engine.e2e_s, engine.duration_s) < engine.ttft_s then 0
            end
        ) as decode_s,
        coalesce(engine.e2e_s, engine.duration_s) as engine_s,
        coalesce(
            engine.ttft_s - engine.queue_s - engine.prefill_s,
            coalesce(engine.e2e_s, engine.duration_s) - engine.queue_s - engine.inference_s
        ) as engine_front_s,
        coalesce(gateway.duration_s, log.duration_s) - coalesce(engine.e2e_s, engine.duration_s) as outside_s,
        epoch(engine.started_at) - epoch(gateway.started_at) as engine_lag_s,
        coalesce(engine.prompt_tokens, gateway.prompt_tokens, log.prompt_tokens) as prompt_tokens,
        coalesce(engine.cached_tokens, gateway.cached_tokens, log.cached_tokens) as cached_tokens,
        hashed.block_hashes,
        hashed.block_size_tokens,
        coalesce(engine.output_tokens, gateway.output_tokens, log.output_tokens) as output_tokens,
        coalesce(engine.max_tokens, gateway.max_tokens) as max_tokens,
        -- only whoever stands in front knows that the client went away
        case when log.status = 499 then 499 else coalesce(gateway.http_status, log.status) end as status,
        -- the address and header of one record belong together; a log without the header cedes to a span
        -- that has it
        log.peer_address is not null
        and (
            log.forwarded_for is not null
            or coalesce(gateway.peer_address, gateway.client_address) is null
            or (
                gateway.forwarded_for is null
                and coalesce(gateway.client_address = gateway.peer_address, true)
            )
        ) as is_client_from_log,
        log.peer_address as log_peer_address,
        coalesce(log.forwarded_for, '') as log_forwarded_for,
        coalesce(gateway.peer_address, gateway.client_address) as span_peer_address,
        coalesce(gateway.forwarded_for, '') as span_forwarded_for,
        -- a producer that states a client other than the peer has read the header itself
        case when gateway.client_address != gateway.peer_address then gateway.client_address end
            as stated_address,
        coalesce(gateway.http_method, log.method) as method,
        coalesce(gateway.path, log.path) as path,
        coalesce(gateway.user_agent, log.user_agent) as user_agent,
        coalesce(engine.is_streaming, gateway.is_streaming) as is_streaming,
        coalesce(gateway.tenant, engine.tenant) as tenant,
        part.gateway_spans,
        part.engine_attempts,
        part.log_lines,
        part.gateway_key is not null as has_gateway_span,
        part.engine_key is not null as has_engine_span,
        part.log_line is not null as has_log_line,
        log.host_header
    from served as part
    left join raw.access as log on part.log_file_id = log.file_id and part.log_line = log.line
    left join hashed on part.hashed_file_id = hashed.file_id and part.hashed_line = hashed.line
    left join upstream on log.upstream_address = upstream.upstream_address
),

probed as materialized (
    select
        *,
        not has_engine_span
        and (
            coalesce(
                regexp_matches(lower(path), '^/(health|healthz|livez|readyz?|ping|metrics|version|-/.*)/?$'),
                false
            )
            or coalesce(
                regexp_matches(user_agent, '^(kube-probe|Prometheus|ELB-HealthChecker|GoogleHC)'), false
            )
        ) as is_probe
    from joined
),

-- log lines without spans (sampled traces) belong to the only service there is; with several to the one that
-- answers for their host wherever both are known, and else they are named by that host
only_service as (
    select min(service) as service
    from norm.service_name
    where is_seen
    having count(distinct service) = 1
),

service_of_host as (
    select
        probed.host_header,
        min(service_name.service) as service
    from probed
    inner join norm.service_name
        on
            coalesce(probed.gateway_service, '') = service_name.gateway_service
            and coalesce(probed.engine_service, '') = service_name.engine_service
    where probed.host_header is not null
    group by probed.host_header
    having count(distinct service_name.service) = 1
)

select
    joined.request_key,
    joined.request_id,
    joined.trace_id,
    coalesce(
        service_name.service, only_service.service, service_of_host.service, joined.host_header, 'unnamed'
    ) as service,
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
    joined.engine_front_s,
    joined.outside_s,
    joined.engine_lag_s,
    case when joined.output_tokens > 1 then joined.decode_s / (joined.output_tokens - 1) end as tpot_s,
    joined.prompt_tokens,
    joined.cached_tokens,
    joined.block_hashes,
    joined.block_size_tokens,
    joined.output_tokens,
    joined.max_tokens,
    joined.status,
    case
        when joined.is_client_from_log or joined.stated_address is null then client.client_ip
        else stated.canonical
    end as client_ip,
    case
        when joined.is_client_from_log or joined.stated_address is null then client.client_ip_key
        else (stated.key_hi::uhugeint << 64) | stated.key_lo::uhugeint
    end as client_ip_key,
    joined.method,
    joined.path,
    joined.user_agent,
    joined.is_streaming,
    joined.tenant,
    joined.gateway_spans,
    joined.engine_attempts,
    joined.log_lines,
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
left join only_service on true
left join service_of_host on joined.host_header = service_of_host.host_header
left join norm.client
    on
        case when joined.is_client_from_log then joined.log_peer_address else joined.span_peer_address end
        = client.peer_address
        and case
            when joined.is_client_from_log then joined.log_forwarded_for else joined.span_forwarded_for
        end = client.forwarded_for
left join raw.address as stated on joined.stated_address = stated.text
order by joined.started_at, joined.request_key

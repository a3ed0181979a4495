-- One row per request: the gateway span, the last engine span and the log line it is put together from.
--
-- gateway_key      -      norm.span.span_key of its outermost gateway span
-- engine_key       -      norm.span.span_key of its last engine span
-- log_file_id      -      meta.input.file_id of its access log line
-- log_line         -      line in that file, 1-based
-- hashed_file_id   -      meta.input.file_id of the line that holds the hashes of its prompt's blocks
-- hashed_line      -      line in that file, 1-based
-- gateway_spans    count  gateway spans of this request; more than one where gateways stand in a row
-- engine_attempts  count  engine spans of this request
-- log_lines        count  access log lines of this request

with recursive server_span as materialized (
    select
        span_key,
        trace_id,
        span_id,
        role,
        started_at,
        -- vLLM puts chatcmpl- or cmpl- before the id it was given
        regexp_replace(request_id, '^(chatcmpl|cmpl)-', '') as bare_id
    from norm.span
    where role in ('gateway', 'engine')
),

-- Only in traces with several gateway spans is it read from the parents who stands behind whom.
crowded_span as materialized (
    select
        span_key,
        trace_id,
        span_id,
        parent_span_id,
        role
    from norm.span
    where
        trace_id in (
            select server_span.trace_id from server_span
            where server_span.role = 'gateway'
            group by server_span.trace_id
            having count(*) > 1
        )
),

climb as (
    select
        span_key,
        trace_id,
        parent_span_id,
        case when role = 'gateway' then span_key end as gateway_key,
        0 as gateway_height,
        0 as height
    from crowded_span
    where role in ('gateway', 'engine')
    union
    select
        climb.span_key,
        climb.trace_id,
        parent.parent_span_id,
        case when parent.role = 'gateway' then parent.span_key else climb.gateway_key end as gateway_key,
        case when parent.role = 'gateway' then climb.height + 1 else climb.gateway_height end
            as gateway_height,
        climb.height + 1 as height
    from climb
    inner join crowded_span as parent
        on climb.trace_id = parent.trace_id and climb.parent_span_id = parent.span_id
    -- broken producers make rings
    where climb.height < 64
),

outermost as (
    select
        span_key,
        arg_max(gateway_key, gateway_height) as gateway_key
    from climb
    where gateway_key is not null
    group by span_key
),

-- a gateway behind a gateway is part of the outer one's request
gateway_of as materialized (
    select
        server_span.span_key,
        server_span.trace_id,
        coalesce(outermost.gateway_key, server_span.span_key) as request_key
    from server_span
    left join outermost on server_span.span_key = outermost.span_key
    where server_span.role = 'gateway'
),

root as (
    select
        trace_id,
        min(request_key) as request_key
    from gateway_of
    where trace_id is not null
    group by trace_id
    having min(request_key) = max(request_key)
),

engine_traced as materialized (
    select
        server_span.span_key,
        server_span.trace_id,
        server_span.span_id,
        server_span.started_at,
        coalesce(outermost.gateway_key, root.request_key) as request_key
    from server_span
    left join outermost on server_span.span_key = outermost.span_key
    left join root on server_span.trace_id = root.trace_id
    where server_span.role = 'engine'
),

-- ids as they are compared: 32 hex digits are the same with and without dashes, and vLLM puts -0 behind some
stated_id as (
    select
        span_key,
        case
            when length(replace(bare_id, '-', '')) = 32 then lower(replace(bare_id, '-', ''))
            else bare_id
        end as id
    from server_span
    where bare_id is not null
    union all
    select
        span_key,
        case
            when length(replace(bare_id[:-3], '-', '')) = 32 then lower(replace(bare_id[:-3], '-', ''))
            else bare_id[:-3]
        end as id
    from server_span
    where bare_id like '%-0'
),

gateway_id as materialized (
    select
        stated_id.id,
        gateway_of.request_key
    from stated_id
    inner join gateway_of on stated_id.span_key = gateway_of.span_key
),

engine_id as materialized (
    select
        stated_id.id,
        stated_id.span_key,
        engine_traced.request_key is null as is_adrift
    from stated_id
    inner join engine_traced on stated_id.span_key = engine_traced.span_key
),

-- a gateway that does not hand its trace on may hand on its request id
engine_by_id as (
    select
        engine_id.span_key,
        min(gateway_id.request_key) as request_key
    from engine_id
    inner join gateway_id on engine_id.id = gateway_id.id
    where engine_id.is_adrift
    group by engine_id.span_key
    having min(gateway_id.request_key) = max(gateway_id.request_key)
),

engine_of as materialized (
    select
        engine.span_key,
        engine.trace_id,
        engine.span_id,
        engine.started_at,
        coalesce(engine.request_key, engine_by_id.request_key, engine.span_key) as request_key
    from engine_traced as engine
    left join engine_by_id on engine.span_key = engine_by_id.span_key
),

log_id as materialized (
    select
        file_id,
        line,
        duration_s,
        block_hashes is not null as is_hashed,
        trace_id,
        case
            when length(replace(request_id, '-', '')) = 32 then lower(replace(request_id, '-', ''))
            else request_id
        end as id
    from raw.access
),

wanted as (
    select id from log_id
    union all
    select trace_id as id from log_id
),

-- every id by which a log line may know a request
named as (
    select
        trace_id as id,
        request_key
    from gateway_of
    union all
    select
        trace_id as id,
        request_key
    from engine_of
    union all
    select
        id,
        request_key
    from gateway_id
    union all
    select
        engine_id.id,
        engine_of.request_key
    from engine_id
    inner join engine_of on engine_id.span_key = engine_of.span_key
),

-- ids that fit several requests join nothing
known_as as materialized (
    select
        id,
        min(request_key) as request_key
    from named
    where id in (select wanted.id from wanted)
    group by id
    having min(request_key) = max(request_key)
),

log_of as materialized (
    select
        log_id.file_id,
        log_id.line,
        log_id.duration_s,
        log_id.is_hashed,
        coalesce(by_trace.request_key, by_id.request_key) as request_key
    from log_id
    left join known_as as by_trace on log_id.trace_id = by_trace.id
    left join known_as as by_id on log_id.id = by_id.id
),

gateway as (
    select
        request_key,
        count(*) as spans
    from gateway_of
    group by request_key
),

engine as (
    select
        request_key,
        count(*) as spans,
        min(span_key) as span_key
    from engine_of
    group by request_key
),

-- a gateway that tried several engines answered with the last one
engine_last as (
    select
        request_key,
        span_key
    from engine_of
    where
        request_key in (
            select engine.request_key from engine
            where engine.spans > 1
        )
    qualify row_number() over (partition by request_key order by started_at desc, span_id asc) = 1
),

-- sidecars on both ends log a request twice: the longer one saw more of it
log as (
    select
        request_key,
        file_id,
        line,
        count(*) over (partition by request_key) as lines
    from log_of
    where request_key is not null
    qualify
        row_number() over (
            partition by request_key
            order by duration_s desc nulls last, file_id asc, line asc
        ) = 1
),

hashed as (
    select
        request_key,
        file_id,
        line
    from log_of
    where request_key is not null and is_hashed
    qualify row_number() over (partition by request_key order by file_id asc, line asc) = 1
)

select
    gateway.request_key as gateway_key,
    coalesce(engine_last.span_key, engine.span_key) as engine_key,
    log.file_id as log_file_id,
    log.line as log_line,
    hashed.file_id as hashed_file_id,
    hashed.line as hashed_line,
    coalesce(gateway.spans, 0)::integer as gateway_spans,
    coalesce(engine.spans, 0)::integer as engine_attempts,
    coalesce(log.lines, 0)::integer as log_lines
from gateway
full outer join engine on gateway.request_key = engine.request_key
left join engine_last on engine.request_key = engine_last.request_key
left join log on coalesce(gateway.request_key, engine.request_key) = log.request_key
left join hashed on coalesce(gateway.request_key, engine.request_key) = hashed.request_key
union all
-- a line that fits nothing is a request of its own
select
    null as gateway_key,
    null as engine_key,
    file_id as log_file_id,
    line as log_line,
    case when is_hashed then file_id end as hashed_file_id,
    case when is_hashed then line end as hashed_line,
    0 as gateway_spans,
    0 as engine_attempts,
    1 as log_lines
from log_of
where request_key is null

-- One row per pair of a gateway's and an engine's service name, with one name for both.
--
-- gateway_service  -        service.name of the gateway span; empty text if there was none
-- engine_service   -        service.name of the engine span; empty text if there was none
-- service          -        what both names begin with, word by word; else the gateway's, else the engine's
-- is_seen          boolean  both stand in some trace together, or one of them stands alone

with said as (
    select distinct
        trace_id,
        role,
        service
    from norm.span
    where role in ('gateway', 'engine') and service is not null
),

together as (
    select distinct
        gateway.service as gateway_service,
        engine.service as engine_service
    from said as gateway
    inner join said as engine on gateway.trace_id = engine.trace_id
    where gateway.role = 'gateway' and engine.role = 'engine'
),

gateway as (
    select service from said
    where role = 'gateway'
    union
    select ''
),

engine as (
    select service from said
    where role = 'engine'
    union
    select ''
),

-- all pairs, few as they are: requests are also joined across traces, by their id
pairs as (
    select
        gateway.service as gateway_service,
        engine.service as engine_service,
        gateway.service = '' or engine.service = '' or together.gateway_service is not null as is_seen
    from gateway
    cross join engine
    left join together
        on gateway.service = together.gateway_service and engine.service = together.engine_service
    where gateway.service != '' or engine.service != ''
),

words as (
    select
        gateway_service,
        engine_service,
        is_seen,
        string_split(gateway_service, '-') as gateway_words,
        string_split(engine_service, '-') as engine_words
    from pairs
),

named as (
    select
        gateway_service,
        engine_service,
        is_seen,
        array_to_string(
            gateway_words[1:list_max(
                list_filter(
                    range(0, len(gateway_words) + 1),
                    lambda n: gateway_words[1:n] = engine_words[1:n]
                )
            )],
            '-'
        ) as shared_name
    from words
),

known as (
    select
        gateway_service,
        engine_service,
        is_seen,
        case
            when shared_name != '' then shared_name
            when gateway_service != '' and engine_service != '' and is_seen then gateway_service
        end as service
    from named
)

select
    known.gateway_service,
    known.engine_service,
    -- a gateway span without an engine span (refused, failed) belongs to the service its name serves
    -- elsewhere
    coalesce(
        known.service,
        min(known.service) filter (where known.is_seen) over (partition by known.gateway_service),
        min(known.service) over (partition by known.gateway_service),
        min(known.service) filter (where known.is_seen) over (partition by known.engine_service),
        min(known.service) over (partition by known.engine_service),
        nullif(known.gateway_service, ''),
        nullif(known.engine_service, '')
    ) as service,
    known.is_seen
from known

-- One row per pair of gateway and engine service names that served requests together, with one name for both.
--
-- gateway_service  -  service.name of the gateway span; empty text if there was none
-- engine_service   -  service.name of the engine span; empty text if there was none
-- service          -  what both names begin with, word by word; else the gateway's, else the engine's

with traces as (
    select
        trace_id,
        max(service) filter (where role = 'gateway') as gateway_service,
        max(service) filter (where role = 'engine') as engine_service
    from norm.span
    where role in ('gateway', 'engine')
    group by trace_id, case when trace_id is null then span_id end
),

pairs as (
    select distinct
        coalesce(gateway_service, '') as gateway_service,
        coalesce(engine_service, '') as engine_service
    from traces
),

words as (
    select
        gateway_service,
        engine_service,
        string_split(gateway_service, '-') as gateway_words,
        string_split(engine_service, '-') as engine_words
    from pairs
),

named as (
    select
        gateway_service,
        engine_service,
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
        case
            when shared_name != '' then shared_name
            when gateway_service != '' and engine_service != '' then gateway_service
        end as service
    from named
)

select
    known.gateway_service,
    known.engine_service,
    -- a gateway span without an engine span (refused, failed) belongs to the service its name serves elsewhere
    coalesce(
        known.service,
        min(known.service) over (partition by nullif(known.gateway_service, '')),
        min(known.service) over (partition by nullif(known.engine_service, '')),
        nullif(known.gateway_service, ''),
        nullif(known.engine_service, '')
    ) as service
from known

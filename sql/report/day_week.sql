-- One row per day that is reported, and service and week up to it: twelve weeks at most.
--
-- day                 -          the day that is reported
-- service             -          service
-- week                -          Monday of the week
-- days                -          days of it that are known, the reported one included
-- requests            count      requests on them
-- total_tokens        tokens     prompts and outputs, summed; null: not known
-- latency_p99_s       s          median of the days' 99th percentiles
-- server_error_ratio  ratio 0-1  median of the days' ratios
-- hit_ratio           ratio 0-1  the same of prefix-cache hits

with figures as (
    select
        day.day as told_day,
        past.day,
        past.service,
        past.figure,
        past.value
    from raw.day
    inner join raw.past_figure as past on day.day > past.day
    where past.span = 'day'

    union all

    select
        day as told_day,
        day,
        service,
        figure,
        value
    from mart.figure_day
    where span = 'day'
)

select
    told_day as day,
    service,
    date_trunc('week', day)::date as week,
    count(distinct day) as days,
    steady_sum(case when figure = 'requests' then value end)::bigint as requests,
    steady_sum(case when figure in ('prompt_tokens', 'output_tokens') then value end)::bigint as total_tokens,
    median(value) filter (where figure = 'latency_p99_s') as latency_p99_s,
    median(value) filter (where figure = 'server_error_ratio') as server_error_ratio,
    median(value) filter (where figure = 'hit_ratio') as hit_ratio
from figures
group by told_day, service, week
having week > told_day - 84
order by service asc, week desc

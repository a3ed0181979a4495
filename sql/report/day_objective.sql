-- One row per day that is reported, and service and month up to it in which the same objective was held to.
--
-- day          -      the day that is reported
-- service      -      service
-- month        -      first day of the month
-- objective_s  s      what the P99 of latency is to stay under
-- days         -      days of the month that are known under this objective
-- measured     count  requests that latency is taken over
-- over         count  of these, longer than the objective
-- budget       count  so many may be: one in a hundred
-- used_ratio   ratio  over / budget; above 1 the month's budget is spent
-- today_over   count  of them on the day that is reported

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
),

by_day as (
    select
        told_day,
        day,
        service,
        any_value(value) filter (where figure = 'measured') as measured,
        any_value(value) filter (where figure = 'over_objective') as over,
        any_value(value) filter (where figure = 'objective_s') as objective_s
    from figures
    group by told_day, day, service
)

select
    by_day.told_day as day,
    by_day.service,
    date_trunc('month', by_day.day)::date as month,
    by_day.objective_s,
    count(*) as days,
    steady_sum(by_day.measured)::bigint as measured,
    steady_sum(by_day.over)::bigint as over,
    steady_sum(by_day.measured) / 100 as budget,
    steady_sum(by_day.over) / nullif(steady_sum(by_day.measured) / 100, 0) as used_ratio,
    coalesce(max(by_day.over) filter (where by_day.day = by_day.told_day), 0)::bigint as today_over
from by_day
inner join raw.day on by_day.told_day = day.day and by_day.objective_s = day.objective_s
group by by_day.told_day, by_day.service, month, by_day.objective_s
having month > by_day.told_day - 366
order by by_day.service asc, month desc

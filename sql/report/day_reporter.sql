-- One row per day that is reported and of what told something on it or on the days just before.
--
-- day        -      the day, in UTC
-- kind       -      service, replica, engine, gpu or format
-- name       -      which one
-- records    count  what was told; 0: nothing
-- usual      count  median of the days before on which it told something; null: on none
-- days_seen  -      on so many of the days before
-- days       -      days before that are known
-- change     -      silent: nothing, and something on each of the three days before; fewer: metrics on
--                   less than half as many minutes as usual; new: for the first time in $day_least_days
--                   days or more; or null

with past as (
    select
        day.day,
        past.kind,
        past.name,
        past.day as past_day,
        past.records
    from raw.day
    inner join raw.past_reporter as past on day.day > past.day
    where past.day >= day.day - $day_reach_days::integer
),

recent as (
    select distinct
        day,
        past_day
    from past
    qualify dense_rank() over (partition by day order by past_day desc) <= 3
),

known as (
    select
        day,
        count(distinct past_day) as days
    from past
    group by day
),

seen as (
    select
        past.day,
        past.kind,
        past.name,
        median(past.records) as usual,
        count(*) as days_seen,
        count(recent.past_day) = 3 as is_regular
    from past
    left join recent on past.day = recent.day and past.past_day = recent.past_day
    group by past.day, past.kind, past.name
),

beside as (
    select
        coalesce(today.day, seen.day) as day,
        coalesce(today.kind, seen.kind) as kind,
        coalesce(today.name, seen.name) as name,
        coalesce(today.records, 0) as records,
        seen.usual,
        coalesce(seen.days_seen, 0) as days_seen,
        seen.is_regular
    from mart.reporter_day as today
    full outer join seen
        on
            today.day = seen.day
            and today.kind = seen.kind
            and today.name = seen.name
    where today.name is not null or seen.is_regular
)

select
    beside.day,
    beside.kind,
    beside.name,
    beside.records,
    beside.usual,
    beside.days_seen,
    coalesce(known.days, 0) as days,
    case
        when beside.records = 0 then 'silent'
        when beside.days_seen = 0 and known.days >= $day_least_days then 'new'
        when beside.kind in ('engine', 'gpu') and beside.is_regular and 2 * beside.records < beside.usual
            then 'fewer'
    end as change
from beside
left join known on beside.day = known.day
order by beside.kind, beside.name

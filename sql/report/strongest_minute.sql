-- One row per service and one of its three minutes of highest latency, against what is usual for it: how far
-- from an incident it was.
--
-- service        -      service
-- minute         UTC    start of the minute
-- requests       count  requests that latency is taken over, 20 or more
-- p99_s          s      their 99th percentile
-- usual_s        s      the same in the service's median minute
-- times          ratio  p99_s / usual_s
-- high_minutes   min    minutes at $confirmed_ratio times usual_s or more, from five before it to five after
-- least_times    ratio  what an incident needs of the one
-- least_minutes  min    and of the other

with measured as (
    select
        service,
        minute,
        measured as requests,
        p99_s,
        median(p99_s) over (partition by service) as usual_s
    from mart.latency_minute
    where measured >= 20 -- of fewer, a 99th percentile is their maximum
),

beside as (
    select
        *,
        p99_s / usual_s as times,
        count_if(p99_s >= $confirmed_ratio * usual_s) over (
            partition by service
            order by minute
            range between interval 5 minute preceding and interval 5 minute following
        ) as high_minutes
    from measured
    where usual_s > 0
)

select
    service,
    minute,
    requests,
    p99_s,
    usual_s,
    times,
    high_minutes,
    $confirmed_ratio as least_times,
    $confirmed_minutes as least_minutes
from beside
qualify row_number() over (partition by service order by times desc, minute asc) <= 3
order by service asc, times desc, minute asc

-- One row per day that is reported, service and figure of it, beside the same figure on quiet days before.
--
-- day         -    the day, in UTC
-- service     -    service
-- figure      -    as in mart.figure_day
-- span        -    day or hour
-- hour_at     UTC  start of that hour; null for the whole day
-- value       -    in the figure's unit
-- usual       -    median of the quiet days it is compared with
-- low         -    below this it is unusual
-- high        -    above this it is unusual
-- days        -    days it is compared with
-- compared    -    weekday: the same day of the week; kind: working days or weekends; day: any
-- surprise    -    distance from usual in standard deviations of those days; null: they did not differ
-- is_unusual  -    beyond low or high; null while fewer than $day_least_days days are known
-- course      -    the figure on the 28 days before and this one, oldest first; null: no such day

with past as (
    select
        day.day,
        past.service,
        past.figure,
        past.span,
        past.value,
        isodow(past.day) = isodow(day.day) as is_weekday,
        (isodow(past.day) >= 6) = (isodow(day.day) >= 6) as is_kind
    from raw.day
    inner join raw.past_figure as past on day.day > past.day
    where
        past.is_quiet
        and past.value is not null
        and past.day >= day.day - $day_reach_days::integer
),

alike as (
    select
        *,
        unnest(['weekday', 'kind', 'day']) as compared,
        unnest([is_weekday, is_kind, true]) as is_alike
    from past
),

spread as (
    select
        day,
        service,
        figure,
        span,
        compared,
        count(*) as days,
        median(value) as usual,
        steady_avg(value) as mean,
        steady_avg(value * value) as square
    from alike
    where is_alike
    group by day, service, figure, span, compared
),

best as (
    select
        *,
        sqrt(greatest(0, square - mean * mean) * days / nullif(days - 1, 0)) as deviation
    from spread
    -- weekends are unlike working days: what is compared with both is not judged
    qualify
        row_number() over (
            partition by day, service, figure, span
            order by
                (compared = 'weekday' and days >= $day_least_days) desc,
                compared = 'kind' desc,
                compared = 'day' desc
        ) = 1
),

bounded as (
    select
        *,
        -- the quantile of Student's t for the normal one z, by its series in 1 / (days - 1)
        (
            $day_sigmas
            + (pow($day_sigmas, 3) + $day_sigmas) / (4 * nullif(days - 1, 0))
            + (5 * pow($day_sigmas, 5) + 16 * pow($day_sigmas, 3) + 3 * $day_sigmas)
            / (96 * pow(nullif(days - 1, 0), 2))
        ) * sqrt(1 + 1 / days) * deviation as reach,
        -- less than this nobody has to be told, however steady the figure was
        case
            when ends_with(figure, '_ratio') then $day_least_ratio
            else $day_least_change * abs(usual)
        end as least
    from best
),

step as (
    select unnest(range(1, 29)) as back
),

earlier as (
    select
        today.service,
        today.figure,
        today.span,
        list(past.value order by step.back desc) as course
    from mart.figure_day as today
    cross join step
    left join raw.past_figure as past
        on
            today.service = past.service
            and today.figure = past.figure
            and today.span = past.span
            and past.day = today.day - step.back::integer
    group by today.service, today.figure, today.span
)

select
    today.day,
    today.service,
    today.figure,
    today.span,
    today.hour_at,
    today.value,
    bounded.usual,
    case when bounded.days > 1 then bounded.usual - greatest(bounded.reach, bounded.least) end as low,
    case when bounded.days > 1 then bounded.usual + greatest(bounded.reach, bounded.least) end as high,
    coalesce(bounded.days, 0) as days,
    coalesce(bounded.compared, 'day') as compared,
    abs(today.value - bounded.usual) / nullif(bounded.deviation, 0) as surprise,
    case
        when bounded.days >= $day_least_days and bounded.compared != 'day'
            then abs(today.value - bounded.usual) > greatest(bounded.reach, bounded.least)
    end as is_unusual,
    list_append(earlier.course, today.value) as course
from mart.figure_day as today
left join bounded
    on
        today.day = bounded.day
        and today.service = bounded.service
        and today.figure = bounded.figure
        and today.span = bounded.span
left join earlier
    on
        today.service = earlier.service
        and today.figure = earlier.figure
        and today.span = earlier.span
order by today.service, today.span, today.figure

-- One row per day that is reported, service and client network that sent a notable part of its requests or
-- tokens (mart.source_day), beside the days before.
--
-- day            -          the day, in UTC
-- service        -          service
-- client_net     -          client network
-- requests       count      requests that arrived
-- total_tokens   tokens     prompts and outputs, summed; null: not known
-- token_ratio    ratio 0-1  share of the service's tokens; null: not known
-- request_ratio  ratio 0-1  share of its requests
-- first_on       -          first of the days before on which it was among the notable; null: on none
-- days_seen      -          on so many of the days before
-- days           -          days before that are known of the service
-- most           -          the most of its tokens (requests, where tokens are not known) on one of those
-- change         -          new: on none of $day_least_days days or more; grown: $day_grown_times times
--                           the most; or null

with known as (
    select
        day.day,
        past.service,
        count(distinct past.day) as days
    from raw.day
    inner join raw.past_source as past on day.day > past.day
    where past.day >= day.day - $day_reach_days::integer
    group by day.day, past.service
),

seen as (
    select
        day.day,
        past.service,
        past.client_net,
        min(past.day) as first_on,
        count(*) as days_seen,
        max(past.requests) as most_requests,
        max(past.total_tokens) as most_tokens
    from raw.day
    inner join raw.past_source as past on day.day > past.day
    where past.day >= day.day - $day_reach_days::integer
    group by day.day, past.service, past.client_net
),

beside as (
    select
        today.day,
        today.service,
        today.client_net,
        today.requests,
        today.total_tokens,
        today.token_ratio,
        today.request_ratio,
        seen.first_on,
        coalesce(seen.days_seen, 0) as days_seen,
        coalesce(known.days, 0) as days,
        case
            when today.total_tokens is not null and seen.most_tokens is not null then seen.most_tokens
            else seen.most_requests
        end as most,
        case
            when today.total_tokens is not null and seen.most_tokens is not null then today.total_tokens
            else today.requests
        end as amount
    from mart.source_day as today
    left join known on today.day = known.day and today.service = known.service
    left join seen
        on
            today.day = seen.day
            and today.service = seen.service
            and today.client_net = seen.client_net
)

select
    day,
    service,
    client_net,
    requests,
    total_tokens,
    token_ratio,
    request_ratio,
    first_on,
    days_seen,
    days,
    most,
    case
        when days < $day_least_days then null
        when days_seen = 0 then 'new'
        when amount >= $day_grown_times * most then 'grown'
    end as change
from beside
order by service asc, coalesce(token_ratio, request_ratio) desc, client_net asc

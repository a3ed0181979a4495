-- One row per service, hour of the week and signal: what is usual then, over the quiet minutes of all days in
-- this file. Spikes, dismissed ones too, and windows that somebody annotated are no part of it.
--
-- service       -      service
-- hour_of_week  -      0 is Monday from 00:00 to 01:00 UTC, 167 Sunday from 23:00 on
-- signal        -      mart.signal_minute.signal
-- usual         -      median over the minutes, in the signal's unit
-- deviation     -      median absolute deviation from it
-- minutes       count  quiet minutes
-- days          count  different days they belong to

with quiet as (
    select
        signal.minute,
        signal.service,
        signal.signal,
        signal.value
    from mart.signal_minute as signal
    where
        not exists (
            select 1 from raw.busy
            where
                busy.service = signal.service
                and busy.from_at < signal.minute + interval 1 minute
                and coalesce(busy.to_at > signal.minute, true)
        )

    union all

    select
        minute,
        service,
        signal,
        value
    from raw.past_minute
)

select
    service,
    24 * (isodow(minute) - 1) + hour(minute) as hour_of_week,
    signal,
    median(value) as usual,
    mad(value) as deviation,
    count(*) as minutes,
    count(distinct minute::date) as days
from quiet
group by service, hour_of_week, signal

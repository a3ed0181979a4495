-- One row per incident: what is usual for the service in these hours, over the days in this file?
--
-- incident_id                 -      incident
-- requests_per_minute         1/min  requests that arrived a minute, median over the minutes of the window
-- requests_per_minute_before  1/min  the same as it is usual in these hours: of the week where two days of
--                                    them are known, else of the day; null where not even of those are two
-- latency_p99_s               s      latency by minute, 99th percentile, median over the window's minutes
-- latency_p99_s_before        s      the same as it is usual in these hours

with measured as (
    select
        phase.incident_id,
        phase.service,
        signal.signal,
        signal.value,
        24 * (isodow(signal.minute) - 1) + hour(signal.minute) as hour_of_week
    from evidence.phase
    inner join mart.signal_minute as signal
        on
            phase.service = signal.service
            and phase.from_at <= signal.minute
            and phase.to_at > signal.minute
    where phase.phase = 'during' and signal.signal in ('requests_per_minute', 'latency_p99_s')
),

of_day as (
    select
        service,
        signal,
        hour_of_week % 24 as hour_of_day,
        median(usual) as usual,
        sum(days) as days
    from evidence.baseline_hour
    group by service, signal, hour_of_day
),

beside as (
    select
        measured.incident_id,
        measured.signal,
        measured.value,
        case
            when of_week.days >= 2 then of_week.usual
            when of_day.days >= 2 then of_day.usual
        end as usual
    from measured
    left join evidence.baseline_hour as of_week
        on
            measured.service = of_week.service
            and measured.signal = of_week.signal
            and measured.hour_of_week = of_week.hour_of_week
    left join of_day
        on
            measured.service = of_day.service
            and measured.signal = of_day.signal
            and measured.hour_of_week % 24 = of_day.hour_of_day
)

select
    incident_id,
    median(value) filter (where signal = 'requests_per_minute') as requests_per_minute,
    median(usual) filter (where signal = 'requests_per_minute') as requests_per_minute_before,
    median(value) filter (where signal = 'latency_p99_s') as latency_p99_s,
    median(usual) filter (where signal = 'latency_p99_s') as latency_p99_s_before
from beside
group by incident_id

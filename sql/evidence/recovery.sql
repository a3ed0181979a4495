-- One row per incident and event noted in its window or up to $after_minutes minutes after it: how latency
-- went on.
--
-- incident_id     -      incident
-- happened_at     UTC    when the event was
-- kind            -      what sort of event
-- text            -      what it says
-- p99_before_s    s      latency in the window before the event, 99th percentile
-- p99_after_s     s      latency of the $after_minutes minutes that follow the incident's end
-- requests_after  count  requests in these minutes that latency is taken over
-- slower_after    count  of them, those above $recovered_ratio times the baseline's 99th percentile
-- slower_spread   ratio  variance over mean of their number by minute: 1 if they come independently
-- minutes_after   min    how many of these minutes the recording holds
-- minutes_to_end  min    from the event to the incident's end; null while it goes on
-- requests_ratio  ratio  requests a minute after the end over the baseline's

with described as (
    select
        incident.incident_id,
        event.happened_at,
        event.kind,
        event.text,
        incident.ended_at,
        incident.started_at
    from raw.incident
    inner join norm.event
        on
            incident.started_at <= event.happened_at
            and coalesce(incident.ended_at, incident.recording_end)
            + $after_minutes * interval 1 minute > event.happened_at
),

usual as (
    select
        incident_id,
        quantile_cont(duration_s, 0.99) filter (where counts_for_latency) as p99_s
    from evidence.request_phase
    where phase = 'baseline'
    group by incident_id
),

slower as (
    select
        request.incident_id,
        time_bucket(interval 1 minute, request.started_at) as minute,
        case
            when any_value(usual.p99_s) is not null
                then count_if(request.duration_s > $recovered_ratio * usual.p99_s)
        end as requests
    from evidence.request_phase as request
    left join usual on request.incident_id = usual.incident_id
    where request.phase = 'after' and request.counts_for_latency
    group by request.incident_id, minute
),

slower_together as (
    select
        incident_id,
        sum(requests) as requests,
        spread(requests) as spread
    from slower
    group by incident_id
),

afterwards as (
    select
        incident_id,
        any_value(phase_minutes) filter (where phase = 'after') as minutes_after,
        quantile_cont(duration_s, 0.99) filter (where phase = 'after' and counts_for_latency) as p99_after_s,
        count_if(phase = 'after' and counts_for_latency) as requests_after,
        count_if(phase = 'after') / any_value(phase_minutes) filter (where phase = 'after')
        / nullif(count_if(phase = 'baseline') / any_value(phase_minutes) filter (where phase = 'baseline'), 0)
            as requests_ratio
    from evidence.request_phase
    group by incident_id
)

select
    described.incident_id,
    described.happened_at,
    described.kind,
    described.text,
    quantile_cont(request.duration_s, 0.99) filter (where request.counts_for_latency) as p99_before_s,
    any_value(afterwards.p99_after_s) as p99_after_s,
    any_value(afterwards.requests_after) as requests_after,
    any_value(slower_together.requests) as slower_after,
    any_value(slower_together.spread) as slower_spread,
    any_value(afterwards.minutes_after) as minutes_after,
    (epoch(any_value(described.ended_at)) - epoch(described.happened_at)) / 60 as minutes_to_end,
    any_value(afterwards.requests_ratio) as requests_ratio
from described
left join evidence.request_phase as request
    on
        described.incident_id = request.incident_id
        and request.phase = 'during'
        and described.happened_at > request.started_at
left join afterwards on described.incident_id = afterwards.incident_id
left join slower_together on described.incident_id = slower_together.incident_id
group by described.incident_id, described.happened_at, described.kind, described.text
order by described.incident_id, described.happened_at, described.kind, described.text

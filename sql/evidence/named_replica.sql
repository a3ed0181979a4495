-- One row per incident, mitigation in it that names some of the service's replicas and leaves out others, and
-- group of them: those it names and the others, before and after it.
--
-- incident_id  -        incident
-- happened_at  UTC      when it was
-- text         -        what it says
-- is_named     boolean  the replicas that it names; else the others
-- is_after     boolean  the $effect_minutes minutes that follow it; else the incident until then
-- replicas     count    replicas of the group that answered
-- requests     count    requests that latency is taken over
-- slower       count    of them, those above $recovered_ratio times the baseline's 99th percentile
-- spread       ratio    variance over mean of their number by minute: 1 if they come independently
-- p99_s        s        latency, 99th percentile

with noted as (
    select distinct
        incident.incident_id,
        event.happened_at,
        event.text
    from raw.incident
    inner join norm.event
        on
            incident.started_at <= event.happened_at
            and coalesce(incident.ended_at, incident.recording_end) > event.happened_at
    -- as in explain/aftermath.py; of other events there may be thousands, times the requests
    where event.kind in ('mitigation', 'rollback', 'fix', 'remediation')
),

numbered as (
    select
        row_number() over (order by incident_id, happened_at, text) as number,
        incident_id,
        happened_at,
        text,
        -- a name ends where no name goes on; a sentence's marks behind it are no part of it
        list_transform(regexp_split_to_array(text, '[^A-Za-z0-9_.:/-]+'), lambda word: rtrim(word, '.:/-'))
            as words
    from noted
),

answered as (
    select
        numbered.number,
        list_contains(numbered.words, request.replica) as is_named,
        request.started_at >= numbered.happened_at as is_after,
        request.replica,
        request.duration_s,
        time_bucket(interval 1 minute, request.started_at) as minute,
        request.duration_s > $recovered_ratio * impact.baseline_s as is_slower
    from numbered
    inner join evidence.request_phase as request on numbered.incident_id = request.incident_id
    inner join evidence.impact on numbered.incident_id = impact.incident_id
    where
        request.phase in ('during', 'after')
        and request.counts_for_latency
        and request.replica is not null
        and request.started_at < numbered.happened_at + $effect_minutes * interval 1 minute
        and impact.baseline_s is not null
),

by_minute as (
    select
        number,
        is_named,
        is_after,
        count_if(is_slower) as slower
    from answered
    group by number, is_named, is_after, minute
),

together as (
    select
        number,
        is_named,
        is_after,
        spread(slower) as spread
    from by_minute
    group by number, is_named, is_after
),

grouped as (
    select
        number,
        is_named,
        is_after,
        count(distinct replica) as replicas,
        count(*) as requests,
        count_if(is_slower) as slower,
        quantile_cont(duration_s, 0.99) as p99_s
    from answered
    group by number, is_named, is_after
)

select
    numbered.incident_id,
    numbered.happened_at,
    numbered.text,
    grouped.is_named,
    grouped.is_after,
    grouped.replicas,
    grouped.requests,
    grouped.slower,
    together.spread,
    grouped.p99_s
from numbered
inner join grouped on numbered.number = grouped.number
inner join together
    on
        grouped.number = together.number
        and grouped.is_named = together.is_named
        and grouped.is_after = together.is_after
-- of both groups both times: else there is nothing to compare
qualify count(*) over (partition by numbered.number) = 4
order by numbered.number, grouped.is_named, grouped.is_after

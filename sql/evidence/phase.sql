-- One row per incident and phase: baseline, during and after.
--
-- incident_id  -    incident
-- service      -    service it befell
-- phase        -    baseline: the quiet time it is compared with; during; after: what followed
-- from_at      UTC  start, inclusive
-- to_at        UTC  end, exclusive
-- minutes      min  length

with bounds as (
    select
        incident_id,
        service,
        baseline_start,
        baseline_end,
        started_at,
        coalesce(ended_at, recording_end) as ended_at,
        least(coalesce(ended_at, recording_end) + $after_minutes * interval 1 minute, recording_end)
            as after_end
    from raw.incident
),

phases as (
    select
        incident_id,
        service,
        unnest(['baseline', 'during', 'after']) as phase,
        unnest([baseline_start, started_at, ended_at]) as from_at,
        unnest([baseline_end, ended_at, after_end]) as to_at
    from bounds
)

select
    incident_id,
    service,
    phase,
    from_at,
    to_at,
    (epoch(to_at) - epoch(from_at)) / 60 as minutes
from phases
where to_at > from_at

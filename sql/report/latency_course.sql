-- One row per incident and minute from an hour before it to an hour after it: latency and volume of its
-- service.
--
-- incident_id  -      incident
-- minute       UTC    start of the minute
-- requests     count  requests that arrived
-- p50_s        s      median latency
-- p95_s        s      95th percentile
-- p99_s        s      99th percentile

select
    incident.incident_id,
    latency.minute,
    latency.requests,
    latency.p50_s,
    latency.p95_s,
    latency.p99_s
from raw.incident
inner join mart.latency_minute as latency
    on
        incident.service = latency.service
        and least(incident.started_at, incident.baseline_start) - interval 60 minute <= latency.minute
        and coalesce(incident.ended_at, incident.recording_end) + interval 60 minute > latency.minute
order by incident.incident_id, latency.minute

-- There is half an hour or more before the incident to compare it with.
--
-- A short baseline makes every comparison less certain; keep two hours of telemetry from before an incident.

select
    incident_id,
    round((epoch(baseline_end) - epoch(baseline_start)) / 60) as baseline_minutes
from raw.incident
where baseline_end - baseline_start < interval 30 minute

-- One row per replayed incident and minute: latency as recorded and as replayed.
--
-- incident_id      -    incident
-- minute           UTC  start of the minute
-- recorded_p99_s   s    99th percentile of the latency recorded
-- replayed_p99_s   s    the same of the latency replayed
-- unchanged_p99_s  s    after the incident: the same had the service stayed as it was in it

select
    incident_id,
    minute,
    recorded_p99_s,
    replayed_p99_s,
    unchanged_p99_s
from meta.replay_minute
order by incident_id, minute

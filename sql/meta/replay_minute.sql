-- One row per replayed incident and minute in which a request arrived that was replayed: how well the replay
-- agrees, and after the incident, what would have been.
--
-- incident_id      -      incident
-- minute           UTC    start of the minute
-- requests         count  requests that were replayed
-- recorded_p99_s   s      their latency as it was recorded, 99th percentile
-- replayed_p99_s   s      the same as the calibrated engines would have had it; null if none fits into them,
--                         and after the incident
-- unchanged_p99_s  s      after the incident: the same had the service stayed as in it; null before its end

create table if not exists meta.replay_minute (
    incident_id varchar not null,
    minute timestamptz not null,
    requests bigint not null,
    recorded_p99_s double,
    replayed_p99_s double,
    unchanged_p99_s double
)

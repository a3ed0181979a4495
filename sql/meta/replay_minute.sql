-- One row per replayed incident and minute in which a request arrived that was replayed: how well the replay
-- agrees.
--
-- incident_id     -      incident
-- minute          UTC    start of the minute
-- requests        count  requests that were replayed
-- recorded_p99_s  s      their latency as it was recorded, 99th percentile
-- replayed_p99_s  s      the same as the calibrated engines would have had it; null if none fits into them

create table if not exists meta.replay_minute (
    incident_id varchar not null,
    minute timestamptz not null,
    requests bigint not null,
    recorded_p99_s double,
    replayed_p99_s double
)

-- One row per day that is reported: one, or none in a run that looks at all there is.
--
-- day          -    the day, in UTC
-- starts_at    UTC  its start, inclusive
-- ends_at      UTC  its end, exclusive
-- objective_s  s    what the P99 of latency is to stay under; null: nothing is promised

create table if not exists raw.day (
    day date not null,
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    objective_s double
)

-- One row per earlier day and of what told something on it, as mart.reporter_day of that day has it.
--
-- day      -      the day, in UTC
-- kind     -      service, replica, engine, gpu or format
-- name     -      which one
-- records  count  what was told

create table if not exists raw.past_reporter (
    day date not null,
    kind varchar not null,
    name varchar not null,
    records bigint not null
)

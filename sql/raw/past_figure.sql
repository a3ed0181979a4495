-- One row per earlier day and figure of it, as mart.figure_day of that day has it.
--
-- day       -  the day, in UTC
-- service   -  service
-- figure    -  what is measured
-- span      -  day or hour
-- value     -  in the figure's unit
-- is_quiet  -  whether the service had no incident that day

create table if not exists raw.past_figure (
    day date not null,
    service varchar not null,
    figure varchar not null,
    span varchar not null,
    value double,
    is_quiet boolean not null
)

-- One row per quiet minute and signal of earlier days, from before what the run of a day looks at itself.
--
-- minute   UTC  start of the minute
-- service  -    service
-- signal   -    mart.signal_minute.signal
-- value    -    in the signal's unit

create table if not exists raw.past_minute (
    minute timestamptz not null,
    service varchar not null,
    signal varchar not null,
    value double not null
)

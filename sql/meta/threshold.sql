-- One row per number the analysis turns on, as it stood in the last run.
--
-- name    -  name, as in --set NAME=VALUE
-- value   -  value
-- unit    -  unit of the value
-- why     -  why this value
-- source  -  where it comes from

create table if not exists meta.threshold (
    name varchar not null,
    value double not null,
    unit varchar not null,
    why varchar not null,
    source varchar not null
)

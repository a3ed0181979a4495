-- One row per metric series and input file.
--
-- file_id      -        meta.input.file_id
-- series_no    -        number of the series within that file, from 0
-- name         -        metric name as written
-- record       -        gpu_sample, engine_sample or host_sample; null for a metric no record declares
-- field        -        column of that record
-- times        -        factor from the value as written to the column's unit
-- is_counter   boolean  cumulative counter
-- metric_type  -        type as the source states it
-- unit         -        unit as the source states it
-- gpu          -        GPU UUID
-- host         -        machine
-- replica      -        pod or instance
-- model        -        model
-- service      -        service that owns the series
-- labels       -        all labels, by key

create table if not exists raw.series (
    file_id uinteger not null,
    series_no uinteger not null,
    name varchar,
    record varchar,
    field varchar,
    times double,
    is_counter boolean,
    metric_type varchar,
    unit varchar,
    gpu varchar,
    host varchar,
    replica varchar,
    model varchar,
    service varchar,
    labels struct("key" varchar, "value" varchar)[]
)

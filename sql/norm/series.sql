-- One row per metric series and input file.
--
-- file_id     -        meta.input.file_id
-- series_no   -        number of the series within that file
-- series_id   -        the same series in whichever file it stands: hash of name and labels
-- name        -        metric name as written
-- record      -        gpu_sample, engine_sample or host_sample; null for a metric no record declares
-- field       -        column of that record
-- times       -        factor to the column's unit
-- is_counter  boolean  cumulative counter
-- is_delta    boolean  states what was added, not the total (OTLP's delta temporality)
-- gpu         -        GPU UUID
-- host        -        machine
-- replica     -        pod or instance
-- model       -        model
-- service     -        service that owns the series
-- labels      -        all labels

select
    file_id,
    series_no,
    hash(name || ' ' || coalesce(field, '') || ' ' || coalesce(labels::varchar, '')) as series_id,
    name,
    record,
    field,
    times,
    is_counter,
    coalesce(starts_with(metric_type, 'delta_'), false) as is_delta,
    gpu,
    host,
    replica,
    model,
    service,
    map_from_entries(labels) as labels
from raw.series

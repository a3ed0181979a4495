-- One row per sample of a metric series; counters also as what was added since the sample before.
--
-- sampled_at  UTC      when it was scraped
-- name        -        metric name as written
-- record      -        gpu_sample, engine_sample or host_sample; null for a metric no record declares
-- field       -        column of that record
-- gpu         -        GPU UUID
-- host        -        machine
-- replica     -        pod or instance
-- model       -        model
-- service     -        service that owns the series
-- labels      -        all labels
-- value       -        in the field's unit: a gauge's reading, a counter's total; null for NaN or a
--                      staleness mark
-- added       -        counters: what was added since the sample before; null for the first sample
-- interval_s  s        time since the sample before
-- is_reset    boolean  the counter fell, so its process restarted

with sampled as (
    select
        series.*,
        sample.at as sampled_at,
        sample.value * coalesce(series.times, 1) as reading
    from raw.sample
    inner join norm.series on sample.file_id = series.file_id and sample.series_no = series.series_no
    -- the same scrape in two files is one sample
    qualify row_number() over (partition by series.series_id, sample.at order by sample.file_id, sample.line) = 1
),

stepped as (
    select
        *,
        lag(reading) over before as reading_before,
        lag(sampled_at) over before as sampled_at_before
    from sampled
    window before as (partition by series_id order by sampled_at)
)

select
    sampled_at,
    name,
    record,
    field,
    gpu,
    host,
    replica,
    model,
    service,
    labels,
    reading as value,
    case
        when not is_counter or reading_before is null then null
        when reading >= reading_before then reading - reading_before
        -- after a reset the counter starts from zero, so what it shows is what was added
        else reading
    end as added,
    epoch(sampled_at) - epoch(sampled_at_before) as interval_s,
    coalesce(is_counter and reading < reading_before, false) as is_reset
from stepped

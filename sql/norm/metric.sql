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
-- value       -        in the field's unit: a gauge's reading, a counter's total, a delta; null for NaN or a
--                      staleness mark
-- added       -        counters: what was added since the sample before; null for the first sample, but of
--                      a delta
-- interval_s  s        time since the sample before that had a value
-- is_reset    boolean  the counter fell, so its process restarted

with sampled as (
    select
        series.series_id,
        coalesce(series.is_counter, false) as is_counter,
        series.is_delta,
        sample.file_id,
        sample.series_no,
        sample.at as sampled_at,
        sample.value * coalesce(series.times, 1) as reading
    from raw.sample
    inner join norm.series on sample.file_id = series.file_id and sample.series_no = series.series_no
    -- the same scrape in two files is one sample
    qualify
        row_number() over (partition by series.series_id, sample.at order by sample.file_id, sample.line) = 1
),

stepped as (
    select
        *,
        -- what a counter added across a staleness mark is not lost
        lag(reading ignore nulls) over before as reading_before,
        lag(case when reading is not null then sampled_at end ignore nulls) over before as sampled_at_before
    from sampled
    window before as (partition by series_id order by sampled_at)
)

select
    stepped.sampled_at,
    series.name,
    series.record,
    series.field,
    series.gpu,
    series.host,
    series.replica,
    series.model,
    series.service,
    series.labels,
    stepped.reading as value,
    case
        when stepped.is_delta then stepped.reading
        when not stepped.is_counter or stepped.reading_before is null then null
        when stepped.reading >= stepped.reading_before then stepped.reading - stepped.reading_before
        -- after a reset the counter starts from zero, so what it shows is what was added
        else stepped.reading
    end as added,
    epoch(stepped.sampled_at) - epoch(stepped.sampled_at_before) as interval_s,
    stepped.is_counter and coalesce(stepped.reading < stepped.reading_before, false) as is_reset
from stepped
-- names and labels are joined last: windows over them would move them for every sample
inner join norm.series on stepped.file_id = series.file_id and stepped.series_no = series.series_no

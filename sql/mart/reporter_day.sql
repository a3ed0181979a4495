-- One row per day that is reported and of what told something on it.
--
-- day      -      the day, in UTC
-- kind     -      service and replica: of requests; engine and gpu: of metrics; format: of a file
-- name     -      which one; of a GPU its machine and UUID
-- records  count  requests, minutes with a sample, or records of that format

with record as (
    select
        file_id,
        coalesce(started_at, finished_at) as told_at
    from raw.access

    union all

    select
        file_id,
        started_at as told_at
    from raw.span

    union all

    select
        file_id,
        "at" as told_at -- noqa: RF06
    from raw.sample

    union all

    select
        file_id,
        "at" as told_at -- noqa: RF06
    from raw.log
),

told as (
    select
        day.day,
        unnest(['service', 'replica']) as kind,
        unnest([request.service, request.replica]) as name
    from raw.day
    inner join norm.request as request
        on day.starts_at <= request.started_at and day.ends_at > request.started_at

    union all

    select
        day.day,
        'engine' as kind,
        engine.replica as name
    from raw.day
    inner join mart.engine_minute as engine on day.starts_at <= engine.minute and day.ends_at > engine.minute

    union all

    select
        day.day,
        'gpu' as kind,
        concat_ws(' ', gpu.host, gpu.gpu) as name
    from raw.day
    inner join mart.gpu_minute as gpu on day.starts_at <= gpu.minute and day.ends_at > gpu.minute

    union all

    select
        day.day,
        'format' as kind,
        input.format as name
    from raw.day
    inner join record on day.starts_at <= record.told_at and day.ends_at > record.told_at
    inner join meta.input on record.file_id = input.file_id
)

select
    day,
    kind,
    name,
    count(*) as records
from told
where name is not null
group by day, kind, name
order by day, kind, name

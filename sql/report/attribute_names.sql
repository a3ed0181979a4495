-- One row per input, field and metric name: by which name a figure was known there.
--
-- path   -      input
-- field  -      our name
-- name   -      its name there
-- count  count  series of that name

select
    input.path,
    series.record || '.' || series.field as field,
    series.name,
    count(*) as count
from norm.series
inner join meta.input on series.file_id = input.file_id
where series.record is not null
group by input.path, series.record, series.field, series.name
order by input.path, field, series.name

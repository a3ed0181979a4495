-- One row per input, field and name it was found under there: of metrics and of attributes of spans.
--
-- path   -      input
-- field  -      our name
-- name   -      its name there
-- count  count  series of that name, or spans that carry it

select
    input.path,
    series.record || '.' || series.field as field,
    series.name,
    count(*) as count
from norm.series
inner join meta.input on series.file_id = input.file_id
where series.record is not null
group by input.path, series.record, series.field, series.name

union all by name

select
    input.path,
    name_used.field,
    name_used.name,
    sum(name_used.rows) as count
from meta.name_used
inner join meta.input on name_used.file_id = input.file_id
group by input.path, name_used.field, name_used.name
order by path, field, name

-- One row per input and reason: what could not be read, with the first place where it happened.
--
-- path     -      input
-- line     -      first such line, 1-based
-- reason   -      why it could not be read
-- excerpt  -      beginning of that line
-- count    count  how many such records

select
    input.path,
    min(reject.line) as line,
    reject.reason,
    arg_min(reject.excerpt, (reject.line, reject.excerpt)) as excerpt,
    count(*) as count
from meta.reject
inner join meta.input on reject.file_id = input.file_id
group by input.path, reject.reason
order by count desc, input.path asc, reject.reason asc

-- Every reject that is counted is listed with its line and reason.
--
-- What was left out of an input cannot be looked up.

select
    input.path,
    input.rejects,
    count(reject.file_id) as listed
from meta.input
left join meta.reject on input.file_id = reject.file_id
group by input.file_id, input.path, input.rejects
having count(reject.file_id) != input.rejects

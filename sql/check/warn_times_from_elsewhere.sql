-- Every record carries the time at which it happened.
--
-- Where a file's samples carry none, they are counted from --start or from the time in the file's name, or
-- back from its last change, taken for the time of the last of them; what came before that cannot be told
-- from them.

select
    path,
    clock
from meta.input
where clock is not null

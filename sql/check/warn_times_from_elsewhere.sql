-- Every record carries the time at which it happened.
--
-- Where a file's samples carry none, they stand where --start, the file's name or its last change put them;
-- what came before what cannot be told from them.

select
    path,
    clock
from meta.input
where clock is not null

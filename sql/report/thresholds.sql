-- One row per number that the analysis turns on.
--
-- name    -  how --set calls it
-- value   -  value, in the unit of the row
-- unit    -  its unit
-- why     -  why it is what it is
-- source  -  whence

select
    name,
    value,
    unit,
    why,
    source
from meta.threshold
order by name

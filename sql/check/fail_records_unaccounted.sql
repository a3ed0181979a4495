-- Every record of an input is either stored or counted as a reject, with file, line and reason.
--
-- Nothing can be said of an input that lost records.

select
    path,
    records,
    rows as stored,
    rejects
from meta.input
where records != rows + rejects

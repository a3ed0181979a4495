-- One row per event that people or tools noted: deploys, pages, configuration changes, mitigations,
-- complaints.
--
-- happened_at  UTC  when
-- kind         -    what sort of event, as written
-- text         -    what it says
-- file_id      -    meta.input.file_id
-- line         -    line in that file, 1-based

select
    event.at as happened_at,
    kind,
    text,
    file_id,
    line
from raw.event
qualify row_number() over (partition by event.at, kind, text order by file_id, line) = 1
order by happened_at, kind, text

-- One row per thing that somebody who knows said of an incident, as the latest --annotations file has it.
--
-- said        -    how the incident is named: its id, or service and window
-- service     -    service it befell
-- started_at  UTC  start of that window, or of the incident of that id
-- ended_at    UTC  end of that window; null where the incident is named by its id
-- verdict     -    confirmed or dismissed; null: as it is found
-- cause       -    kind of cause; null: as it is found
-- author      -    who said so; null: not told
-- note        -    why

create table if not exists meta.annotation (
    said varchar not null,
    service varchar not null,
    started_at timestamptz not null,
    ended_at timestamptz,
    verdict varchar,
    cause varchar,
    author varchar,
    note varchar not null
)

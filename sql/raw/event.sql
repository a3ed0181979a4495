-- One row per event noted by people or tools, as it was read.
--
-- file_id  -    meta.input.file_id
-- line     -    line in that file, 1-based
-- at       UTC  when
-- kind     -    what sort of event, as written
-- text     -    what it says

create table if not exists raw.event (
    file_id uinteger not null,
    line ubigint not null,
    "at" timestamptz,  -- noqa: RF06
    kind varchar,
    text varchar
)

-- One row per record that could not be read.
--
-- file_id  -  meta.input.file_id
-- line     -  line in that file, 1-based, after decompression
-- reason   -  why
-- excerpt  -  its beginning, at most 200 characters

create table if not exists meta.reject (
    file_id uinteger not null,
    line ubigint,
    reason varchar,
    excerpt varchar
)

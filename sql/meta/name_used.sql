-- One row per file, field and attribute that the field was taken from, of what spans say in attributes; more
-- than one where the file grew and was read further.
--
-- file_id  -      meta.input.file_id
-- field    -      table and column it fills, such as span.prompt_tokens
-- name     -      the attribute's name
-- rows     count  spans that took it from there; a last line that was read again as it grew counts again

create table if not exists meta.name_used (
    file_id uinteger not null,
    field varchar not null,
    name varchar not null,
    rows ubigint not null
)

-- No file lies where another one lay whose records are still counted.
--
-- What was read of the earlier content is kept. If the later one is a corrected copy of it, its records count
-- twice: ingest the folder into a new file.

select
    before.path,
    after.path as later
from meta.input as before
inner join meta.input as after on before.replaced_by = after.file_id

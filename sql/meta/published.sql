-- One row per publication of this file: exactly one in a file that readers open, none in the work file.
--
-- published_at     UTC  when it was written
-- product_version  -    version of the product that wrote it
-- schema_version   -    version of the names in this file; it goes up when one is renamed or dropped

create table if not exists meta.published (
    published_at timestamptz not null,
    product_version varchar not null,
    schema_version integer not null
)

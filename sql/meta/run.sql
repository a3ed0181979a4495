-- One row per run of the pipeline on this warehouse.
--
-- run_id           -    number of the run
-- started_at       UTC  when it began
-- product_version  -    version of the product
-- settings         -    what was asked for, as JSON

create table if not exists meta.run (
    run_id uinteger not null,
    started_at timestamptz not null,
    product_version varchar not null,
    settings varchar not null
)

-- One row per sample of a metric series as it was read.
--
-- file_id    -    meta.input.file_id
-- line       -    line in that file, 1-based
-- series_no  -    raw.series.series_no of the same file
-- at         UTC  when it was taken
-- value      -    value as written, in the source's unit; null for NaN and staleness marks

create table if not exists raw.sample (
    file_id uinteger not null,
    line ubigint not null,
    series_no uinteger not null,
    "at" timestamptz,  -- noqa: RF06
    value double
)

-- One row per file that was offered.
--
-- file_id          -      number of the file in this warehouse
-- path             -      where it lay, relative to the input it was found under
-- sha256           -      hash of the file as it lay; null if it could not be opened
-- bytes            bytes  its size, compressed or not
-- kind             -      sort of telemetry, or skipped
-- format           -      format that read it; of a skipped file, why it was skipped
-- rows             count  records stored
-- rejects          count  records that could not be read: see meta.reject
-- records          count  records seen: rows and rejects together
-- bytes_read       bytes  read from it, decompressed
-- first_at         UTC    earliest instant in it
-- last_at          UTC    latest
-- clock            -      where times come from that its records do not carry; null: they carry theirs
-- ingested_in_run  -      meta.run.run_id of the run that read it, or read further in it
-- replaced_by      -      file_id of what lay later at the same place, with other content; null: nothing

create table if not exists meta.input (
    file_id uinteger not null,
    path varchar not null,
    sha256 varchar,
    bytes ubigint not null,
    kind varchar not null,
    format varchar not null,
    rows ubigint not null,
    rejects ubigint not null,
    records ubigint not null,
    bytes_read ubigint not null,
    first_at timestamptz,
    last_at timestamptz,
    clock varchar,
    ingested_in_run uinteger,
    replaced_by uinteger
)

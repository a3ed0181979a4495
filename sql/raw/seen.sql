-- One row per state in which a file was read, and per place where such content was found.
--
-- seen_no       -      number of the row
-- file_id       -      meta.input.file_id
-- location      -      where it lay, in full
-- file_sha256   -      hash of the file as it lay, compressed or not
-- sha256        -      hash of its decompressed content
-- length        bytes  decompressed
-- whole_length  bytes  of that, up to the end of the last line that has one
-- lines         count  line ends in it
-- beginning     -      its first 512 decompressed bytes, in hex

create table if not exists raw.seen (
    seen_no uinteger not null,
    file_id uinteger not null,
    location varchar not null,
    file_sha256 varchar,
    sha256 varchar not null,
    length ubigint not null,
    whole_length ubigint not null,
    lines ubigint not null,
    beginning varchar not null
)

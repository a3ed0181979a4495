-- One row per access log line as it was read.
--
-- file_id            -       meta.input.file_id
-- line               -       line in that file, 1-based
-- started_at         UTC     arrival, as logged or end less duration
-- finished_at        UTC     end, as logged or arrival plus duration
-- duration_s         s       total time at the gateway
-- ttft_s             s       time to the first byte of the answer
-- upstream_s         s       time spent upstream, summed over attempts
-- upstream_attempts  count   upstreams tried
-- upstream_address   -       the last of them
-- peer_address       -       address at the other end of the connection
-- forwarded_for      -       X-Forwarded-For as received
-- method             -       HTTP method
-- path               -       URL path without query
-- status             -       HTTP status answered; 499: the client went away
-- bytes_sent         bytes   sent to the client
-- user_agent         -       User-Agent as received
-- host_header        -       Host as received
-- request_id         -       request id as written
-- trace_id           -       trace, 32 lower hex digits
-- prompt_tokens      tokens  prompt length
-- output_tokens      tokens  tokens generated
-- cached_tokens      tokens  prompt tokens found in the prefix cache
-- block_hashes       -       one for each block of the prompt, in order: equal ones stand for the same
--                            tokens, with the same before them
-- block_size_tokens  tokens  tokens in such a block; the last one may hold fewer
-- model              -       model asked for

create table if not exists raw.access (
    file_id uinteger not null,
    line ubigint not null,
    started_at timestamptz,
    finished_at timestamptz,
    duration_s double,
    ttft_s double,
    upstream_s double,
    upstream_attempts usmallint,
    upstream_address varchar,
    peer_address varchar,
    forwarded_for varchar,
    method varchar,
    path varchar,
    status smallint,
    bytes_sent bigint,
    user_agent varchar,
    host_header varchar,
    request_id varchar,
    trace_id varchar,
    prompt_tokens bigint,
    output_tokens bigint,
    cached_tokens bigint,
    block_hashes ubigint[],
    block_size_tokens usmallint,
    model varchar
)

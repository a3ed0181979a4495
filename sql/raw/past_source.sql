-- One row per earlier day, service and client network, as mart.source_day of that day has it.
--
-- day           -       the day, in UTC
-- service       -       service
-- client_net    -       client network
-- requests      count   requests that arrived
-- total_tokens  tokens  prompts and outputs, summed

create table if not exists raw.past_source (
    day date not null,
    service varchar not null,
    client_net varchar not null,
    requests bigint not null,
    total_tokens bigint
)

-- One row per stretch in which a service was not as usual: every spike found, whatever became of it, and
-- every window that somebody annotated. None of it is part of a baseline.
--
-- service  -    service
-- from_at  UTC  start, inclusive
-- to_at    UTC  end, exclusive; null while it goes on

create table if not exists raw.busy (
    service varchar not null,
    from_at timestamptz not null,
    to_at timestamptz
)

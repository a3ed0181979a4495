-- One row per quiet stretch of a service with a confirmed incident and hypothesis: what the rule says where
-- nothing happened.
--
-- service         -    service
-- started_at      UTC  start of the stretch, inclusive
-- ended_at        UTC  end, exclusive
-- baseline_start  UTC  start of the quiet time that it is compared with, which ends where it starts
-- kind            -    kind of cause
-- verdict         -    established, likely, possible (a false alarm); ruled_out, not_supported, not_testable

create table if not exists meta.placebo (
    service varchar not null,
    started_at timestamptz not null,
    ended_at timestamptz not null,
    baseline_start timestamptz not null,
    kind varchar not null,
    verdict varchar not null
)

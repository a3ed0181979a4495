-- One row per quiet stretch that is judged like an incident, to see what would be blamed where nothing
-- happened. The columns are those of raw.incident, in whose place it stands while the stretches are measured.
--
-- incident_id     -    the stretch
-- service         -    service
-- status          -    quiet
-- metric          -    empty: nothing stood out
-- started_at      UTC  start, inclusive
-- ended_at        UTC  end, exclusive
-- onset_earliest  UTC  the start
-- onset_latest    UTC  the start
-- baseline_start  UTC  start of the quiet time before it that it is compared with, inclusive
-- baseline_end    UTC  end of that, exclusive: the start
-- baseline_from   -    how the baseline was chosen
-- recording_end   UTC  the end: what follows is not looked at
-- reason          -    why it was chosen
-- is_given        -    false
-- has_risen       -    false
-- annotation      -    null

create table if not exists raw.quiet (
    incident_id varchar not null,
    service varchar,
    status varchar,
    metric varchar,
    started_at timestamptz,
    ended_at timestamptz,
    onset_earliest timestamptz,
    onset_latest timestamptz,
    baseline_start timestamptz,
    baseline_end timestamptz,
    baseline_from varchar,
    recording_end timestamptz,
    reason varchar,
    is_given boolean,
    has_risen boolean,
    annotation varchar
)

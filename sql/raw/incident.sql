-- One row per incident as detection found it, handed back so that evidence can be joined to it.
--
-- incident_id     -    incident
-- service         -    service it befell
-- status          -    confirmed or candidate
-- metric          -    what stood out
-- started_at      UTC  start, inclusive
-- ended_at        UTC  end, exclusive; null while it goes on
-- onset_earliest  UTC  earliest instant at which it can have begun
-- onset_latest    UTC  latest
-- baseline_start  UTC  start of the quiet time it is compared with, inclusive
-- baseline_end    UTC  end of that, exclusive
-- baseline_from   -    how the baseline was chosen
-- recording_end   UTC  end of what was recorded of the service
-- reason          -    why it is, or is not, an incident
-- is_given        -    whether its start and end were given, not measured
-- has_risen       -    false where it was given, and nothing rose in it
-- annotation      -    meta.annotation.said of what was said of it; null: nothing

create table if not exists raw.incident (
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

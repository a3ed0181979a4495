-- Every file that was taken for telemetry gave rows.
--
-- What such a file recorded is missing, and counts as not recorded.

select
    path,
    format,
    rejects
from meta.input
where rows = 0 and kind not in ('skipped', 'log_format')

-- No engine counter fell: the engines ran through.
--
-- What was counted between the last sample before a restart and the restart is not known.

select
    replica,
    count(*) as restarts,
    min(sampled_at) as first_at
from norm.engine_sample
where is_restart
group by replica

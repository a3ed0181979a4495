-- One row per incident: did a replica stop, start or fall behind its peers?
--
-- incident_id            -          incident
-- covered_ratio          ratio 0-1  requests of the window answered well whose replica is known
-- replicas               count      replicas that answered during the incident
-- replicas_before        count      the same in the baseline
-- silent_replicas        count      replicas with a fair share before that answered next to nothing (under a
--                                   tenth of it) in some 3 minutes
-- new_replicas           count      replicas first seen from $lead_minutes minutes before the start on, and
--                                   not within the first $lead_minutes minutes of the recording
-- lost_replicas          count      silent replicas that no new one stands in for in the same 3 minutes, at
--                                   the worst
-- starts                 count      new replicas, and restarts of engines under their old names
-- straggler_ratio        ratio      slowdown of decoding of the replica that lost most over that of the next
--                                   worst, at equal load where most of its requests can be compared so
-- straggler_slow_lift    ratio      share of the slow requests (beyond the baseline's 99th percentile) that
--                                   replica answered, over its share of all
-- straggler_clock_ratio  ratio 0-1  SM clock during over before, while at work, of that replica's
--                                   machine, its slowest GPU

with per_replica as (
    select
        incident_id,
        replica,
        max(host) as host,
        count_if(phase = 'baseline' and coalesce(status, 200) < 500) as requests_before,
        any_value(phase_minutes) filter (where phase = 'baseline') as minutes_before,
        quantile_cont(tpot_s, 0.5) filter (where phase = 'during')
        / nullif(quantile_cont(tpot_s, 0.5) filter (where phase = 'baseline'), 0) as slowdown
    from evidence.request_phase
    where replica is not null
    group by incident_id, replica
),

by_block as (
    select
        incident_id,
        replica,
        time_bucket(interval 3 minute, started_at) as block,
        count(*) as requests
    from evidence.request_phase
    -- an upstream that refuses or times out is logged as well
    where replica is not null and phase = 'during' and coalesce(status, 200) < 500
    group by incident_id, replica, block
),

-- whole blocks only: the first and the last may be cut
blocks as (
    select distinct
        incident_id,
        time_bucket(interval 3 minute, started_at) as block
    from evidence.request_phase
    where phase = 'during'
    qualify
        block > min(block) over (partition by incident_id)
        and block < max(block) over (partition by incident_id)
),

quiet as (
    select
        per_replica.incident_id,
        per_replica.replica,
        blocks.block
    from per_replica
    inner join blocks on per_replica.incident_id = blocks.incident_id
    left join by_block
        on
            per_replica.incident_id = by_block.incident_id
            and per_replica.replica = by_block.replica
            and blocks.block = by_block.block
    where
        -- so few requests that silence could be chance say nothing
        3 * per_replica.requests_before / per_replica.minutes_before >= 20
        and coalesce(by_block.requests, 0) < 0.3 * per_replica.requests_before / per_replica.minutes_before
),

silent as (
    select
        incident_id,
        count(distinct replica) as silent_replicas
    from quiet
    group by incident_id
),

limits as (
    select
        incident_id,
        quantile_cont(duration_s, 0.99) as limit_s
    from evidence.request_phase
    where phase = 'baseline' and counts_for_latency
    group by incident_id
),

slowed as (
    select
        answered.incident_id,
        answered.replica,
        count(*) as requests,
        count_if(answered.duration_s > limits.limit_s) as slow
    from evidence.request_phase as answered
    inner join limits on answered.incident_id = limits.incident_id
    where answered.phase = 'during' and answered.counts_for_latency and answered.replica is not null
    group by answered.incident_id, answered.replica
),

lifts as (
    select
        incident_id,
        replica,
        (slow / nullif(sum(slow) over (partition by incident_id), 0))
        / (requests / sum(requests) over (partition by incident_id)) as slow_lift
    from slowed
),

paced as (
    select
        per_replica.incident_id,
        per_replica.replica,
        per_replica.host,
        -- a new replica has no time before of its own; the others' stands for it
        coalesce(pace.pace / coalesce(pace.pace_before, 1), per_replica.slowdown) as slowdown
    from per_replica
    left join evidence.replica_pace as pace
        on per_replica.incident_id = pace.incident_id and per_replica.replica = pace.replica
),

ranked as (
    select
        incident_id,
        list(slowdown order by slowdown desc) as slowdowns,
        list(host order by slowdown desc, replica asc)[1] as host,
        list(replica order by slowdown desc, replica asc)[1] as replica
    from paced
    where slowdown is not null
    group by incident_id
),

clock as (
    select
        phase.incident_id,
        gpu.host,
        gpu.gpu,
        steady_avg(case when phase.phase = 'during' then gpu.working_clock_mhz end)
        / nullif(steady_avg(case when phase.phase = 'baseline' then gpu.working_clock_mhz end), 0)
            as clock_ratio
    from evidence.phase
    inner join mart.gpu_minute as gpu on phase.from_at <= gpu.minute and phase.to_at > gpu.minute
    group by phase.incident_id, gpu.host, gpu.gpu
),

slowest_clock as (
    select
        incident_id,
        host,
        min(clock_ratio) as clock_ratio
    from clock
    group by incident_id, host
),

aged as (
    select
        service,
        replica,
        first_at,
        first_at - min(first_at) over (partition by service) as age
    from norm.replica
),

newcomer as (
    select
        phase.incident_id,
        aged.replica
    from evidence.phase
    inner join aged
        on
            phase.service = aged.service
            and phase.from_at - $lead_minutes * interval 1 minute <= aged.first_at
            and phase.to_at > aged.first_at
    -- all are seen for the first time when the recording begins
    where phase.phase = 'during' and aged.age >= $lead_minutes * interval 1 minute
),

fresh as (
    select
        incident_id,
        count(*) as new_replicas
    from newcomer
    group by incident_id
),

standing_in as (
    select
        by_block.incident_id,
        by_block.block,
        count(*) as replicas
    from by_block
    inner join newcomer
        on by_block.incident_id = newcomer.incident_id and by_block.replica = newcomer.replica
    group by by_block.incident_id, by_block.block
),

gone as (
    select
        quiet.incident_id,
        quiet.block,
        count(*) - coalesce(any_value(standing_in.replicas), 0) as replicas
    from quiet
    left join standing_in
        on quiet.incident_id = standing_in.incident_id and quiet.block = standing_in.block
    group by quiet.incident_id, quiet.block
),

lost as (
    select
        incident_id,
        greatest(max(replicas), 0) as lost_replicas
    from gone
    group by incident_id
),

known as (
    select
        incident_id,
        count(replica) filter (where phase = 'during' and coalesce(status, 200) < 400)
        / nullif(count_if(phase = 'during' and coalesce(status, 200) < 400), 0) as covered_ratio,
        count(distinct replica) filter (where phase = 'during' and coalesce(status, 200) < 500)
            as replicas,
        count(distinct replica) filter (where phase = 'baseline' and coalesce(status, 200) < 500)
            as replicas_before
    from evidence.request_phase
    group by incident_id
)

select
    known.incident_id,
    known.covered_ratio,
    known.replicas,
    known.replicas_before,
    coalesce(silent.silent_replicas, case when known.replicas_before > 0 then 0 end) as silent_replicas,
    coalesce(fresh.new_replicas, case when known.replicas_before > 0 then 0 end) as new_replicas,
    coalesce(lost.lost_replicas, case when known.replicas_before > 0 then 0 end) as lost_replicas,
    coalesce(fresh.new_replicas, case when known.replicas_before > 0 then 0 end)
    + coalesce(cache.restarts, 0) as starts,
    ranked.slowdowns[1] / nullif(ranked.slowdowns[2], 0) as straggler_ratio,
    lifts.slow_lift as straggler_slow_lift,
    slowest_clock.clock_ratio as straggler_clock_ratio
from known
left join silent on known.incident_id = silent.incident_id
left join fresh on known.incident_id = fresh.incident_id
left join ranked on known.incident_id = ranked.incident_id
left join lifts on known.incident_id = lifts.incident_id and ranked.replica = lifts.replica
left join lost on known.incident_id = lost.incident_id
left join evidence.cache on known.incident_id = cache.incident_id
left join slowest_clock on known.incident_id = slowest_clock.incident_id and ranked.host = slowest_clock.host

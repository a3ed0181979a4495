-- One row per incident: did a GPU of the service's machines report a fault?
--
-- incident_id     -          incident
-- covered_ratio   ratio 0-1  minutes of the window with XID codes
-- xid_changes     count      GPUs whose last XID code changed; the code is sticky, so an old one is no news
-- silent_gpus     count      GPUs that reported before and no more
-- ecc_dbe         count      double-bit ECC errors
-- ecc_dbe_before  count      the same in the baseline

with own as (
    select distinct
        service,
        host
    from norm.replica
    where host is not null
),

measured as (
    select
        phase.incident_id,
        phase.phase,
        phase.minutes as phase_minutes,
        gpu.*
    from evidence.phase
    inner join mart.gpu_minute as gpu
        on phase.from_at <= gpu.minute and phase.to_at > gpu.minute
    left join own on phase.service = own.service and gpu.host = own.host
    -- the machines of the service's replicas; all, where spans do not say which those are
    where
        own.host is not null or not exists (
            select 1 from own as any_own
            where any_own.service = phase.service
        )
),

by_gpu as (
    select
        incident_id,
        gpu,
        steady_avg(case when phase = 'during' then sm_clock_mhz end)
        / nullif(steady_avg(case when phase = 'baseline' then sm_clock_mhz end), 0) as clock_ratio,
        steady_avg(case when phase = 'during' then throttled_ratio end) as throttled_ratio,
        steady_avg(case when phase = 'baseline' then throttled_ratio end) as throttled_ratio_before,
        list(distinct xid) filter (where phase = 'during' and xid > 0) as xids,
        arg_max(xid, minute) filter (where phase = 'baseline') as xid_before,
        count_if(phase = 'during') as minutes_during,
        count_if(phase = 'baseline') as minutes_before
    from measured
    group by incident_id, gpu
),

worst as (
    select
        incident_id,
        min(clock_ratio) as worst_clock_ratio,
        max(throttled_ratio - coalesce(throttled_ratio_before, 0)) as throttled_rise,
        -- the code sticks until the driver resets: only a change is news
        count_if(
            list_bool_or(list_transform(xids, lambda xid: xid is distinct from xid_before))
            and minutes_before > 0
        ) as xid_changes,
        count_if(minutes_during = 0 and minutes_before > 0) as silent_gpus
    from by_gpu
    group by incident_id
)

select
    measured.incident_id,
    count(distinct measured.minute) filter (where measured.phase = 'during' and measured.xid is not null)
    / nullif(ceil(any_value(measured.phase_minutes) filter (where measured.phase = 'during')), 0)
        as covered_ratio,
    any_value(worst.xid_changes) as xid_changes,
    any_value(worst.silent_gpus) as silent_gpus,
    steady_sum(case when measured.phase = 'during' then measured.ecc_dbe end) as ecc_dbe,
    steady_sum(case when measured.phase = 'baseline' then measured.ecc_dbe end) as ecc_dbe_before
from measured
inner join worst on measured.incident_id = worst.incident_id
group by measured.incident_id

-- One row per incident: did a GPU of the service's machines report a fault?
--
-- incident_id     -          incident
-- covered_ratio   ratio 0-1  minutes of the window with XID codes, over all GPUs seen before or during
-- xid_changes     count      GPUs with another XID code than the last one from before, from $lead_minutes
--                            minutes before the start on; the code is sticky, so an old one is no news
-- silent_gpus     count      GPUs that reported before and stopped 3 minutes or more before the others
-- ecc_dbe         count      double-bit ECC errors
-- ecc_dbe_before  count      the same in the baseline

with bounds as (
    select
        during.incident_id,
        during.service,
        before.from_at as baseline_from,
        during.to_at,
        during.minutes,
        -- a baseline shorter than the lead would leave no code to compare with
        case
            when before.from_at < during.from_at - $lead_minutes * interval 1 minute
                then during.from_at - $lead_minutes * interval 1 minute
            else during.from_at
        end as news_from
    from evidence.phase as during
    left join evidence.phase as before
        on during.incident_id = before.incident_id and before.phase = 'baseline'
    where during.phase = 'during'
),

seen as (
    select
        bounds.incident_id,
        gpu.host,
        gpu.gpu,
        gpu.minute,
        gpu.xid,
        gpu.ecc_dbe,
        gpu.minute < bounds.news_from as is_before
    from bounds
    inner join mart.gpu_minute as gpu
        on coalesce(bounds.baseline_from, bounds.news_from) <= gpu.minute and bounds.to_at > gpu.minute
    inner join mart.gpu_host as own on bounds.service = own.service and gpu.host is not distinct from own.host
),

by_gpu as (
    select
        incident_id,
        host,
        gpu,
        arg_max(xid, minute) filter (where is_before) as xid_before,
        list(distinct xid) filter (where not is_before) as xids,
        count_if(is_before) as minutes_before,
        max(minute) as last_minute,
        max(max(minute)) over (partition by incident_id) as last_minute_of_any
    from seen
    group by incident_id, host, gpu
),

news as (
    select
        incident_id,
        count(*) as gpus,
        case
            when sum(minutes_before) > 0
                then count_if(
                    minutes_before > 0
                    and list_bool_or(
                        list_transform(xids, lambda xid: xid > 0 and xid is distinct from xid_before)
                    )
                )
        end as xid_changes,
        case
            when sum(minutes_before) > 0
                then count_if(
                    minutes_before > 0 and last_minute_of_any - last_minute >= interval 3 minute
                )
        end as silent_gpus
    from by_gpu
    group by incident_id
),

measured as (
    select
        seen.incident_id,
        phase.phase,
        phase.minutes as phase_minutes,
        seen.minute,
        seen.xid,
        seen.ecc_dbe
    from seen
    inner join evidence.phase
        on
            seen.incident_id = phase.incident_id
            and seen.minute >= phase.from_at
            and seen.minute < phase.to_at
)

select
    measured.incident_id,
    count(measured.xid) filter (where measured.phase = 'during')
    / nullif(
        ceil(any_value(measured.phase_minutes) filter (where measured.phase = 'during'))
        * any_value(news.gpus),
        0
    ) as covered_ratio,
    any_value(news.xid_changes) as xid_changes,
    any_value(news.silent_gpus) as silent_gpus,
    steady_sum(case when measured.phase = 'during' then measured.ecc_dbe end) as ecc_dbe,
    steady_sum(case when measured.phase = 'baseline' then measured.ecc_dbe end) as ecc_dbe_before
from measured
inner join news on measured.incident_id = news.incident_id
group by measured.incident_id

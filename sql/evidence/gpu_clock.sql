-- One row per incident: did a GPU of the service's machines run slower?
--
-- incident_id           -          incident
-- covered_ratio         ratio 0-1  minutes of the window with SM clocks, over all GPUs seen before or during
-- worst_clock_ratio     ratio 0-1  SM clock during over before, while at work, of the GPU that lost most
-- throttled_rise        ratio 0-1  rise of the share of scrapes with a heat or hardware brake, of the GPU
--                                  where it rose most
-- gpu_temp_c            C          GPU temperature, highest
-- gpu_temp_c_before     C          the same in the baseline
-- memory_temp_c         C          memory temperature, highest
-- memory_temp_c_before  C          the same in the baseline
-- power_w               W          power drawn, mean over GPUs
-- power_w_before        W          the same in the baseline
-- sm_clock_mhz          MHz        SM clock, mean over GPUs
-- sm_clock_mhz_before   MHz        the same in the baseline

with measured as (
    select
        phase.incident_id,
        phase.phase,
        phase.minutes as phase_minutes,
        gpu.*
    from evidence.phase
    inner join mart.gpu_minute as gpu
        on phase.from_at <= gpu.minute and phase.to_at > gpu.minute
    inner join mart.gpu_host as own on phase.service = own.service and gpu.host is not distinct from own.host
),

by_gpu as (
    select
        incident_id,
        host,
        gpu,
        steady_avg(case when phase = 'during' then working_clock_mhz end)
        / nullif(steady_avg(case when phase = 'baseline' then working_clock_mhz end), 0) as clock_ratio,
        steady_avg(case when phase = 'during' then throttled_ratio end) as throttled_ratio,
        steady_avg(case when phase = 'baseline' then throttled_ratio end) as throttled_ratio_before
    from measured
    where phase in ('baseline', 'during')
    group by incident_id, host, gpu
),

worst as (
    select
        incident_id,
        count(*) as gpus,
        min(clock_ratio) as worst_clock_ratio,
        max(throttled_ratio - coalesce(throttled_ratio_before, 0)) as throttled_rise
    from by_gpu
    group by incident_id
)

select
    measured.incident_id,
    count(measured.sm_clock_mhz) filter (where measured.phase = 'during')
    / nullif(
        ceil(any_value(measured.phase_minutes) filter (where measured.phase = 'during'))
        * any_value(worst.gpus),
        0
    ) as covered_ratio,
    any_value(worst.worst_clock_ratio) as worst_clock_ratio,
    any_value(worst.throttled_rise) as throttled_rise,
    max(measured.gpu_temp_c) filter (where measured.phase = 'during') as gpu_temp_c,
    max(measured.gpu_temp_c) filter (where measured.phase = 'baseline') as gpu_temp_c_before,
    max(measured.memory_temp_c) filter (where measured.phase = 'during') as memory_temp_c,
    max(measured.memory_temp_c) filter (where measured.phase = 'baseline') as memory_temp_c_before,
    steady_avg(case when measured.phase = 'during' then measured.power_w end) as power_w,
    steady_avg(case when measured.phase = 'baseline' then measured.power_w end) as power_w_before,
    steady_avg(case when measured.phase = 'during' then measured.sm_clock_mhz end) as sm_clock_mhz,
    steady_avg(case when measured.phase = 'baseline' then measured.sm_clock_mhz end) as sm_clock_mhz_before
from measured
inner join worst on measured.incident_id = worst.incident_id
group by measured.incident_id

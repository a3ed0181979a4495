-- One row per incident: was device memory busier?
--
-- incident_id                       -          incident
-- covered_ratio                     ratio 0-1  minutes of the window with DRAM activity, over all GPUs seen
--                                              before or during
-- dram_active_ratio                 ratio 0-1  share of cycles device memory was read or written, mean over
--                                              GPUs
-- dram_active_ratio_before          ratio 0-1  the same in the baseline
-- dram_active_highest_ratio         ratio 0-1  the same, highest minute of any GPU
-- dram_active_highest_ratio_before  ratio 0-1  the same in the baseline
-- gpu_util_ratio                    ratio 0-1  share of time in which any kernel ran, mean over GPUs
-- gpu_util_ratio_before             ratio 0-1  the same in the baseline
-- tensor_active_ratio               ratio 0-1  share of cycles the tensor pipes were active, mean over GPUs
-- tensor_active_ratio_before        ratio 0-1  the same in the baseline
-- fb_used_ratio                     ratio 0-1  frame buffer used, mean over GPUs
-- fb_used_ratio_before              ratio 0-1  the same in the baseline

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
)

select
    incident_id,
    count(dram_active_ratio) filter (where phase = 'during')
    / nullif(
        ceil(any_value(phase_minutes) filter (where phase = 'during'))
        * count(distinct concat_ws('/', host, gpu)) filter (where phase in ('baseline', 'during')),
        0
    ) as covered_ratio,
    steady_avg(case when phase = 'during' then dram_active_ratio end) as dram_active_ratio,
    steady_avg(case when phase = 'baseline' then dram_active_ratio end) as dram_active_ratio_before,
    max(dram_active_ratio) filter (where phase = 'during') as dram_active_highest_ratio,
    max(dram_active_ratio) filter (where phase = 'baseline') as dram_active_highest_ratio_before,
    steady_avg(case when phase = 'during' then gpu_util_ratio end) as gpu_util_ratio,
    steady_avg(case when phase = 'baseline' then gpu_util_ratio end) as gpu_util_ratio_before,
    steady_avg(case when phase = 'during' then tensor_active_ratio end) as tensor_active_ratio,
    steady_avg(case when phase = 'baseline' then tensor_active_ratio end) as tensor_active_ratio_before,
    steady_avg(case when phase = 'during' then fb_used_ratio end) as fb_used_ratio,
    steady_avg(case when phase = 'baseline' then fb_used_ratio end) as fb_used_ratio_before
from measured
group by incident_id

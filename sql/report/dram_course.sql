-- One row per incident and minute around it: the GPUs of its service's machines, all where those are not
-- known.
--
-- incident_id        -          incident
-- minute             UTC        start of the minute
-- dram_active_ratio  ratio 0-1  share of cycles device memory was read or written, mean over GPUs
-- gpu_util_ratio     ratio 0-1  share of time in which any kernel ran, mean over GPUs
-- sm_clock_mhz       MHz        SM clock, of the slowest GPU

select
    course.incident_id,
    course.minute,
    steady_avg(gpu.dram_active_ratio) as dram_active_ratio,
    steady_avg(gpu.gpu_util_ratio) as gpu_util_ratio,
    min(gpu.sm_clock_mhz) as sm_clock_mhz
from report.latency_course as course
inner join raw.incident on course.incident_id = incident.incident_id
inner join mart.gpu_minute as gpu on course.minute = gpu.minute
inner join mart.gpu_host as own on incident.service = own.service and gpu.host is not distinct from own.host
group by course.incident_id, course.minute
order by course.incident_id, course.minute

-- One row per GPU and minute with a scrape of its metrics.
--
-- minute               UTC        start of the minute
-- host                 -          machine
-- gpu                  -          GPU UUID
-- scrapes              count      scrapes in this minute
-- sm_clock_mhz         MHz        SM clock, mean
-- working_clock_mhz    MHz        the same over scrapes at which a kernel ran, as an idle GPU lowers its
--                                 clock; over all where none says so
-- gpu_temp_c           C          GPU temperature, highest
-- memory_temp_c        C          memory temperature, highest
-- power_w              W          power drawn, mean
-- gpu_util_ratio       ratio 0-1  share of time in which any kernel ran, mean
-- tensor_active_ratio  ratio 0-1  share of cycles the tensor pipes were active, mean
-- dram_active_ratio    ratio 0-1  share of cycles device memory was read or written, mean
-- fb_used_bytes        bytes      frame buffer used, mean
-- fb_used_ratio        ratio 0-1  frame buffer used over used and free, mean
-- throttled_ratio      ratio 0-1  share of scrapes with a heat or hardware brake among the clocks event
--                                 reasons
-- thermal_violation_s  s          time throttled for heat
-- xid                  -          code of the last XID error, highest; sticky
-- ecc_dbe              count      double-bit ECC errors

select
    time_bucket(interval 1 minute, sample.sampled_at) as minute,
    sample.host,
    sample.gpu,
    count(*) as scrapes,
    steady_avg(sample.sm_clock_mhz) as sm_clock_mhz,
    steady_avg(case when coalesce(sample.gpu_util_ratio, 1) > 0 then sample.sm_clock_mhz end)
        as working_clock_mhz,
    max(sample.gpu_temp_c) as gpu_temp_c,
    max(sample.memory_temp_c) as memory_temp_c,
    steady_avg(sample.power_w) as power_w,
    steady_avg(sample.gpu_util_ratio) as gpu_util_ratio,
    steady_avg(sample.tensor_active_ratio) as tensor_active_ratio,
    steady_avg(sample.dram_active_ratio) as dram_active_ratio,
    steady_avg(sample.fb_used_bytes) as fb_used_bytes,
    steady_avg(sample.fb_used_bytes / nullif(sample.fb_used_bytes + sample.fb_free_bytes, 0))
        as fb_used_ratio,
    count_if((sample.throttle_reasons::bigint & $thermal_bits::bigint) != 0)
    / nullif(count(sample.throttle_reasons), 0) as throttled_ratio,
    steady_sum(sample.thermal_violation_s) as thermal_violation_s,
    max(sample.xid) as xid,
    steady_sum(sample.ecc_dbe_total) as ecc_dbe
from norm.gpu_sample as sample
group by minute, sample.host, sample.gpu
order by minute, sample.host, sample.gpu

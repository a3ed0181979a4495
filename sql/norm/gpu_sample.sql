-- One row per GPU and scrape.
--
-- sampled_at           UTC        when it was scraped
-- host                 -          machine
-- gpu                  -          GPU UUID
-- sm_clock_mhz         MHz        SM clock
-- mem_clock_mhz        MHz        memory clock
-- gpu_temp_c           C          GPU temperature
-- memory_temp_c        C          memory temperature
-- power_w              W          power drawn
-- energy_j             J          energy used since the sample before
-- gpu_util_ratio       ratio 0-1  share of time in which any kernel ran
-- mem_copy_util_ratio  ratio 0-1  share of time in which memory was read or written
-- fb_used_bytes        bytes      frame buffer used
-- fb_free_bytes        bytes      frame buffer free
-- xid                  -          code of the last XID error, sticky until the driver resets; 0 none
-- ecc_sbe_total        count      single-bit ECC errors since the sample before
-- ecc_dbe_total        count      double-bit ECC errors since the sample before
-- throttle_reasons     bitmask    NVML clocks event reasons
-- thermal_violation_s  s          time throttled for heat since the sample before
-- power_violation_s    s          time throttled for power since the sample before
-- gr_engine_ratio      ratio 0-1  share of time the graphics engine was active
-- sm_active_ratio      ratio 0-1  share of time an SM had a warp
-- tensor_active_ratio  ratio 0-1  share of cycles the tensor pipes were active
-- dram_active_ratio    ratio 0-1  share of cycles device memory was read or written
-- pcie_tx_bytes_per_s  bytes/s    PCIe sent
-- pcie_rx_bytes_per_s  bytes/s    PCIe received
-- pcie_replay_total    count      PCIe replays since the sample before
-- interval_s           s          time since the sample before; what counters added belongs to it

select
    sampled_at,
    host,
    gpu,
    max(value) filter (where field = 'sm_clock_mhz') as sm_clock_mhz,
    max(value) filter (where field = 'mem_clock_mhz') as mem_clock_mhz,
    max(value) filter (where field = 'gpu_temp_c') as gpu_temp_c,
    max(value) filter (where field = 'memory_temp_c') as memory_temp_c,
    max(value) filter (where field = 'power_w') as power_w,
    steady_sum(case when field = 'energy_j' then added end) as energy_j,
    max(value) filter (where field = 'gpu_util_ratio') as gpu_util_ratio,
    max(value) filter (where field = 'mem_copy_util_ratio') as mem_copy_util_ratio,
    max(value) filter (where field = 'fb_used_bytes') as fb_used_bytes,
    max(value) filter (where field = 'fb_free_bytes') as fb_free_bytes,
    max(value) filter (where field = 'xid') as xid,
    steady_sum(case when field = 'ecc_sbe_total' then added end) as ecc_sbe_total,
    steady_sum(case when field = 'ecc_dbe_total' then added end) as ecc_dbe_total,
    max(value) filter (where field = 'throttle_reasons') as throttle_reasons,
    steady_sum(case when field = 'thermal_violation_s' then added end) as thermal_violation_s,
    steady_sum(case when field = 'power_violation_s' then added end) as power_violation_s,
    max(value) filter (where field = 'gr_engine_ratio') as gr_engine_ratio,
    max(value) filter (where field = 'sm_active_ratio') as sm_active_ratio,
    max(value) filter (where field = 'tensor_active_ratio') as tensor_active_ratio,
    max(value) filter (where field = 'dram_active_ratio') as dram_active_ratio,
    max(value) filter (where field = 'pcie_tx_bytes_per_s') as pcie_tx_bytes_per_s,
    max(value) filter (where field = 'pcie_rx_bytes_per_s') as pcie_rx_bytes_per_s,
    steady_sum(case when field = 'pcie_replay_total' then added end) as pcie_replay_total,
    max(interval_s) as interval_s
from norm.metric
where record = 'gpu_sample'
group by host, gpu, sampled_at

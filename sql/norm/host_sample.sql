-- One row per machine and scrape.
--
-- sampled_at        UTC        when it was scraped
-- host              -          machine
-- tcp_retransmits   count      TCP segments retransmitted since the sample before
-- tcp_segments_out  count      TCP segments sent since the sample before
-- net_rx_bytes      bytes      received since the sample before
-- net_tx_bytes      bytes      sent since the sample before
-- cpu_busy_ratio    ratio 0-1  share of CPU time not idle
-- interval_s        s          time since the sample before; what counters added belongs to it

select
    sampled_at,
    host,
    steady_sum(case when field = 'tcp_retransmits' then added end) as tcp_retransmits,
    steady_sum(case when field = 'tcp_segments_out' then added end) as tcp_segments_out,
    steady_sum(case when field = 'net_rx_bytes' then added end) as net_rx_bytes,
    steady_sum(case when field = 'net_tx_bytes' then added end) as net_tx_bytes,
    max(value) filter (where field = 'cpu_busy_ratio') as cpu_busy_ratio,
    max(interval_s) as interval_s
from norm.metric
where record = 'host_sample'
group by host, sampled_at

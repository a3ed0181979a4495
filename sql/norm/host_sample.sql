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
    sum(added) filter (where field = 'tcp_retransmits') as tcp_retransmits,
    sum(added) filter (where field = 'tcp_segments_out') as tcp_segments_out,
    sum(added) filter (where field = 'net_rx_bytes') as net_rx_bytes,
    sum(added) filter (where field = 'net_tx_bytes') as net_tx_bytes,
    max(value) filter (where field = 'cpu_busy_ratio') as cpu_busy_ratio,
    max(interval_s) as interval_s
from norm.metric
where record = 'host_sample'
group by host, sampled_at

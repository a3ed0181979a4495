-- One row per service and minute in which a request arrived.
--
-- minute         UTC    start of the minute
-- service        -      service that answered
-- requests       count  requests that arrived, probes left out
-- measured       count  of these, the ones latency is taken over (refused ones and those without duration
--                       are not)
-- p50_s          s      median latency
-- p90_s          s      90th percentile
-- p95_s          s      95th percentile
-- p99_s          s      99th percentile
-- mean_s         s      mean latency
-- ttft_p50_s     s      time to first token, median
-- ttft_p99_s     s      time to first token, 99th percentile
-- queue_p99_s    s      wait in the engine's queue, 99th percentile
-- tpot_p50_s     s      decode time per token, median
-- outside_p50_s  s      time outside the engine, median
-- server_errors  count  answered 5xx
-- client_errors  count  answered 4xx but 499
-- client_gone    count  answered 499: the client did not wait

select
    time_bucket(interval 1 minute, started_at) as minute,
    service,
    count(*) as requests,
    count_if(counts_for_latency) as measured,
    quantile_cont(duration_s, 0.50) filter (where counts_for_latency) as p50_s,
    quantile_cont(duration_s, 0.90) filter (where counts_for_latency) as p90_s,
    quantile_cont(duration_s, 0.95) filter (where counts_for_latency) as p95_s,
    quantile_cont(duration_s, 0.99) filter (where counts_for_latency) as p99_s,
    steady_avg(case when counts_for_latency then duration_s end) as mean_s,
    quantile_cont(ttft_s, 0.50) as ttft_p50_s,
    quantile_cont(ttft_s, 0.99) as ttft_p99_s,
    quantile_cont(queue_s, 0.99) as queue_p99_s,
    quantile_cont(tpot_s, 0.50) as tpot_p50_s,
    quantile_cont(outside_s, 0.50) as outside_p50_s,
    count_if(status >= 500) as server_errors,
    count_if(status between 400 and 498) as client_errors,
    count_if(status = 499) as client_gone
from norm.request
where not is_probe
group by minute, service
order by minute, service

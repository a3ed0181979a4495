-- One row per incident: what did the surroundings do meanwhile?
--
-- incident_id              -          incident
-- other_p99_s              s          latency of the other services, 99th percentile
-- other_p99_s_before       s          the same in the baseline
-- retransmit_ratio         ratio 0-1  TCP segments sent again
-- retransmit_ratio_before  ratio 0-1  the same in the baseline
-- error_logs               count      log records of severity ERROR or worse, of any service
-- error_logs_before        count      the same in the baseline
-- logs                     count      log records of any severity

with bounds as (
    select
        incident_id,
        service,
        phase,
        from_at,
        to_at
    from evidence.phase
    where phase in ('baseline', 'during')
),

other as (
    select
        bounds.incident_id,
        quantile_cont(request.duration_s, 0.99) filter (where phase = 'during') as other_p99_s,
        quantile_cont(request.duration_s, 0.99) filter (where phase = 'baseline') as other_p99_s_before
    from bounds
    inner join norm.request
        on
            bounds.service != request.service
            and bounds.from_at <= request.started_at
            and bounds.to_at > request.started_at
    where request.counts_for_latency
    group by bounds.incident_id
),

network as (
    select
        bounds.incident_id,
        steady_sum(case when phase = 'during' then tcp_retransmits end)
        / nullif(steady_sum(case when phase = 'during' then tcp_segments_out end), 0) as retransmit_ratio,
        steady_sum(case when phase = 'baseline' then tcp_retransmits end)
        / nullif(steady_sum(case when phase = 'baseline' then tcp_segments_out end), 0)
            as retransmit_ratio_before
    from bounds
    inner join
        norm.host_sample as host
        on bounds.from_at <= host.sampled_at and bounds.to_at > host.sampled_at
    group by bounds.incident_id
),

logged as (
    select
        bounds.incident_id,
        count_if(log.severity_number >= 17 and phase = 'during') as error_logs,
        count_if(log.severity_number >= 17 and phase = 'baseline') as error_logs_before,
        count(*) as logs
    from bounds
    inner join norm.log on bounds.from_at <= log.logged_at and bounds.to_at > log.logged_at
    group by bounds.incident_id
)

select
    incident.incident_id,
    other.other_p99_s,
    other.other_p99_s_before,
    network.retransmit_ratio,
    network.retransmit_ratio_before,
    logged.error_logs,
    logged.error_logs_before,
    logged.logs
from raw.incident
left join other on incident.incident_id = other.incident_id
left join network on incident.incident_id = network.incident_id
left join logged on incident.incident_id = logged.incident_id

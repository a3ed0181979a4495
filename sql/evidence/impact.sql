-- One row per incident: who felt it, and how bad it was.
--
-- incident_id      -      incident
-- requests         count  requests of the service in the window, probes left out
-- baseline_s       s      latency in the baseline, 99th percentile over all requests pooled
-- peak_s           s      latency in the window, 99th percentile over all requests pooled
-- p50_s            s      latency in the window, median
-- p50_s_before     s      the same in the baseline
-- requests_slowed  count  requests slower than baseline_s
-- clients          count  different client addresses among these
-- excess_seconds   s      their latency beyond baseline_s, summed
-- errors           count  requests answered 5xx; null where no status is known

with limit_of as (
    select
        incident_id,
        quantile_cont(duration_s, 0.99) filter (where counts_for_latency) as baseline_s,
        quantile_cont(duration_s, 0.50) filter (where counts_for_latency) as p50_s_before
    from evidence.request_phase
    where phase = 'baseline'
    group by incident_id
),

judged as (
    select
        request.*,
        limit_of.baseline_s,
        limit_of.p50_s_before,
        request.counts_for_latency and request.duration_s > limit_of.baseline_s as is_slowed
    from evidence.request_phase as request
    left join limit_of on request.incident_id = limit_of.incident_id
    where request.phase = 'during'
)

select
    incident.incident_id,
    count(judged.incident_id) as requests,
    any_value(judged.baseline_s) as baseline_s,
    quantile_cont(judged.duration_s, 0.99) filter (where judged.counts_for_latency) as peak_s,
    quantile_cont(judged.duration_s, 0.50) filter (where judged.counts_for_latency) as p50_s,
    any_value(judged.p50_s_before) as p50_s_before,
    -- without a baseline nobody can be called slowed
    case when count(judged.baseline_s) > 0 then count_if(judged.is_slowed) end as requests_slowed,
    -- nobody slowed is 0; slowed requests whose clients no input names are not
    case
        when count(judged.baseline_s) > 0 and not coalesce(bool_or(judged.is_slowed), false) then 0
        else nullif(count(distinct judged.client_ip) filter (where judged.is_slowed), 0)
    end as clients,
    steady_sum(
        case
            when judged.is_slowed then judged.duration_s - judged.baseline_s
            when judged.duration_s <= judged.baseline_s then 0
        end
    ) as excess_seconds,
    case when count(judged.status) > 0 then count_if(judged.status >= 500) end as errors
from raw.incident
left join judged on incident.incident_id = judged.incident_id
group by incident.incident_id

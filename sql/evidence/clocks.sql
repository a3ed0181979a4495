-- One row per incident: did a clock jump between gateway and engines?
--
-- incident_id             -          incident
-- covered_ratio           ratio 0-1  requests of the window seen at the gateway and in the engine
-- lag_shift_s             s          change of the start at the engine less the start at the gateway,
--                                    median, of the host where it changed most
-- backwards_ratio         ratio 0-1  share of requests that began at the engine before they began at the
--                                    gateway
-- backwards_ratio_before  ratio 0-1  the same in the baseline

with per_host as (
    select
        incident_id,
        host,
        quantile_cont(engine_lag_s, 0.5) filter (where phase = 'during')
        - quantile_cont(engine_lag_s, 0.5) filter (where phase = 'baseline') as lag_shift_s
    from evidence.request_phase
    where engine_lag_s is not null
    group by incident_id, host
),

shift as (
    select
        incident_id,
        arg_max(lag_shift_s, (abs(lag_shift_s), lag_shift_s)) as lag_shift_s
    from per_host
    group by incident_id
)

select
    request_phase.incident_id,
    count(request_phase.engine_lag_s) filter (
        where request_phase.phase = 'during' and coalesce(request_phase.status, 200) < 400
    )
    / nullif(count_if(request_phase.phase = 'during' and coalesce(request_phase.status, 200) < 400), 0)
        as covered_ratio,
    any_value(shift.lag_shift_s) as lag_shift_s,
    count_if(request_phase.engine_lag_s < 0 and request_phase.phase = 'during')
    / nullif(count(request_phase.engine_lag_s) filter (where request_phase.phase = 'during'), 0)
        as backwards_ratio,
    count_if(request_phase.engine_lag_s < 0 and request_phase.phase = 'baseline')
    / nullif(count(request_phase.engine_lag_s) filter (where request_phase.phase = 'baseline'), 0)
        as backwards_ratio_before
from evidence.request_phase
left join shift on request_phase.incident_id = shift.incident_id
group by request_phase.incident_id

-- One row per incident: did requests fail, and did anybody repeat them?
--
-- incident_id                -          incident
-- covered_ratio              ratio 0-1  requests of the window whose status is known
-- server_error_ratio         ratio 0-1  share of requests answered 5xx
-- server_error_ratio_before  ratio 0-1  the same in the baseline
-- client_gone_ratio          ratio 0-1  share of requests the client gave up (499)
-- client_gone_ratio_before   ratio 0-1  the same in the baseline
-- repeat_ratio               ratio 0-1  share of requests that repeat one of the same client and prompt
--                                       length that had failed within $retry_within_s; null where more
--                                       requests failed of which these are not known
-- repeat_ratio_before        ratio 0-1  the same in the baseline
-- repeats_per_minute         1/min      such repeats a minute
-- repeats_per_minute_before  1/min      the same in the baseline

with repeated as (
    select
        incident_id,
        phase,
        phase_minutes,
        status,
        -- a prompt length identifies a prompt well enough within one client and a minute; without it nothing
        -- is claimed
        case
            when client_ip is not null and prompt_tokens is not null
                then coalesce(
                    lag(status) over same >= 499
                    and epoch(started_at)
                    - epoch(lag(started_at + to_microseconds((duration_s * 1e6)::bigint)) over same)
                    between -0.001 and $retry_within_s,
                    false
                )
        end as is_repeat
    from evidence.request_phase
    window
        same as (partition by incident_id, phase, client_ip, prompt_tokens order by started_at, request_key)
)

select
    incident_id,
    count(status) filter (where phase = 'during') / nullif(count_if(phase = 'during'), 0) as covered_ratio,
    count_if(status >= 500 and phase = 'during')
    / nullif(count(status) filter (where phase = 'during'), 0) as server_error_ratio,
    count_if(status >= 500 and phase = 'baseline')
    / nullif(count(status) filter (where phase = 'baseline'), 0) as server_error_ratio_before,
    count_if(status = 499 and phase = 'during')
    / nullif(count(status) filter (where phase = 'during'), 0) as client_gone_ratio,
    count_if(status = 499 and phase = 'baseline')
    / nullif(count(status) filter (where phase = 'baseline'), 0) as client_gone_ratio_before,
    -- what was repeated of the failures without client or length is not known: a share of 2 % changes nothing
    case
        when
            count_if(status >= 499 and is_repeat is null and phase = 'during')
            <= greatest(count_if(is_repeat and phase = 'during'), 0.02 * count_if(phase = 'during'))
            then
                count_if(is_repeat and phase = 'during')
                / nullif(count(is_repeat) filter (where phase = 'during'), 0)
    end as repeat_ratio,
    case
        when
            count_if(status >= 499 and is_repeat is null and phase = 'baseline')
            <= greatest(count_if(is_repeat and phase = 'baseline'), 0.02 * count_if(phase = 'baseline'))
            then
                count_if(is_repeat and phase = 'baseline')
                / nullif(count(is_repeat) filter (where phase = 'baseline'), 0)
    end as repeat_ratio_before,
    count_if(is_repeat and phase = 'during')
    / any_value(phase_minutes) filter (where phase = 'during') as repeats_per_minute,
    count_if(is_repeat and phase = 'baseline')
    / any_value(phase_minutes) filter (where phase = 'baseline') as repeats_per_minute_before
from repeated
group by incident_id

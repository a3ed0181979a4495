-- One row per incident: did more requests of the usual kind arrive?
--
-- incident_id                  -          incident
-- covered_ratio                ratio 0-1  minutes of the window in which a request arrived, or requests whose
--                                         length is known, whichever is less
-- requests_per_s               1/s        requests that arrived a second
-- requests_per_s_before        1/s        the same in the baseline
-- usual_requests_per_s         1/s        requests that are not long that arrived a second; those of unknown
--                                         length are taken to be long as often as the others; null where no
--                                         length is known
-- usual_requests_per_s_before  1/s        the same in the baseline
-- more_share                   ratio        part of the growth of tokens a second, prompts' or answers'
--                                         whichever grew more, that comes from the number of requests
-- clients                      count      different client addresses
-- clients_before               count      the same in the baseline

select
    incident_id,
    -- a window that does not begin with a minute touches one more
    least(
        count(distinct time_bucket(interval 1 minute, started_at)) filter (where phase = 'during')
        / nullif(ceil(any_value(phase_minutes) filter (where phase = 'during')), 0),
        count(is_long) filter (where phase = 'during') / nullif(count_if(phase = 'during'), 0),
        1
    ) as covered_ratio,
    count_if(phase = 'during')
    / (60 * any_value(phase_minutes) filter (where phase = 'during')) as requests_per_s,
    count_if(phase = 'baseline')
    / (60 * any_value(phase_minutes) filter (where phase = 'baseline')) as requests_per_s_before,
    count_if(phase = 'during') / (60 * any_value(phase_minutes) filter (where phase = 'during'))
    * count_if(not is_long and phase = 'during')
    / nullif(count(is_long) filter (where phase = 'during'), 0) as usual_requests_per_s,
    count_if(phase = 'baseline') / (60 * any_value(phase_minutes) filter (where phase = 'baseline'))
    * count_if(not is_long and phase = 'baseline')
    / nullif(count(is_long) filter (where phase = 'baseline'), 0) as usual_requests_per_s_before,
    ln(
        (count_if(phase = 'during') / any_value(phase_minutes) filter (where phase = 'during'))
        / nullif(count_if(phase = 'baseline') / any_value(phase_minutes) filter (where phase = 'baseline'), 0)
    )
    / nullif(
        ln(
            (count_if(phase = 'during') / any_value(phase_minutes) filter (where phase = 'during'))
            / nullif(
                count_if(phase = 'baseline') / any_value(phase_minutes) filter (where phase = 'baseline'), 0
            )
        )
        + greatest(
            0,
            ln(
                steady_avg(case when phase = 'during' then prompt_tokens end)
                / nullif(steady_avg(case when phase = 'baseline' then prompt_tokens end), 0)
            ),
            ln(
                steady_avg(case when phase = 'during' then output_tokens end)
                / nullif(steady_avg(case when phase = 'baseline' then output_tokens end), 0)
            )
        ),
        0
    ) as more_share,
    -- requests come from somewhere: none counted means none known
    nullif(count(distinct client_ip) filter (where phase = 'during'), 0) as clients,
    nullif(count(distinct client_ip) filter (where phase = 'baseline'), 0) as clients_before
from evidence.request_phase
group by incident_id

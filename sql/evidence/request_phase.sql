-- One row per incident and request of its service that arrived in one of the incident's phases, probes left
-- out.
--
-- incident_id         -        incident
-- phase               -        baseline, during or after
-- phase_minutes       min      length of that phase
-- request_key         -        norm.request.request_key
-- started_at          UTC      arrival
-- duration_s          s        total time
-- counts_for_latency  boolean  latency is taken over it
-- is_long             boolean  a long prompt (mart.prompt_length); null if its length is not known
-- long_from_tokens    tokens   the length from which on it is
-- prompt_tokens       tokens   prompt length
-- cached_tokens       tokens   prompt tokens found in the prefix cache
-- output_tokens       tokens   tokens generated
-- ttft_s              s        time to first token
-- queue_s             s        wait in the engine's queue
-- prefill_s           s        first schedule to first token
-- tpot_s              s        decode time per token
-- engine_s            s        time in the engine
-- outside_s           s        time outside it
-- before_queue_s      s        the same and the time in its process before its queue
-- engine_lag_s        s        start at the engine less start at the gateway
-- replica             -        engine replica
-- host                -        its machine
-- status              -        HTTP status
-- client_ip           -        client
-- client_ip_key       -        the same as a number (IPv4 as ::ffff:0:0/96)
-- client_net          -        client network, /24 or /64

select
    phase.incident_id,
    phase.phase,
    phase.minutes as phase_minutes,
    request.request_key,
    request.started_at,
    request.duration_s,
    request.counts_for_latency,
    request.prompt_tokens >= length.long_from_tokens as is_long,
    length.long_from_tokens,
    request.prompt_tokens,
    request.cached_tokens,
    request.output_tokens,
    request.ttft_s,
    request.queue_s,
    request.prefill_s,
    request.tpot_s,
    request.engine_s,
    request.outside_s,
    request.outside_s + if(request.engine_front_s < 0, 0, request.engine_front_s) as before_queue_s,
    request.engine_lag_s,
    request.replica,
    request.host,
    request.status,
    request.client_ip,
    request.client_ip_key,
    ip_net(request.client_ip_key) as client_net
from evidence.phase
inner join norm.request
    on
        phase.service = request.service
        and phase.from_at <= request.started_at
        and phase.to_at > request.started_at
left join mart.prompt_length as length on request.service = length.service
where not request.is_probe

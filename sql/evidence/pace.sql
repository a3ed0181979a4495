-- One row per incident: did decoding slow where the engines had no more to do than before?
--
-- incident_id     -          incident
-- covered_ratio   ratio 0-1  requests of the window that decoded under a load which the baseline has as well
-- decode_ratio    ratio      decode time a token during over before, at equal load: requests that decode and
--                            prompts worked on at once on the same replica; mean over requests
-- slowest_ratio   ratio      the same of the replica that slowed most
-- quickest_ratio  ratio      the same of the replica that slowed least

with paced as (
    select
        incident_id,
        requests,
        comparable,
        case when pace is not null then comparable end as weight,
        -- a new replica has no time before of its own; the others' stands for it
        pace / coalesce(pace_before, 1) as slowdown
    from evidence.replica_pace
)

select
    incident_id,
    sum(comparable) / nullif(sum(requests), 0) as covered_ratio,
    exp(steady_sum(weight * ln(slowdown)) / sum(weight)) as decode_ratio,
    max(slowdown) as slowest_ratio,
    min(slowdown) as quickest_ratio
from paced
group by incident_id

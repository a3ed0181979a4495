-- One row per incident: the more work long prompts bring, the longer do short requests wait, minute for
-- minute and replica beside replica?
--
-- incident_id           -            incident
-- covered_ratio         ratio 0-1    requests of the window of which the prompt's length is known and, of
--                                    short ones, the time to first token
-- minutes               count        pairs of successive minutes that tell how the time to first token of
--                                    short requests changed with the long prompts that arrived
-- minutes_s_per_1k      s/1k tokens  growth of the mean time to first token of short requests with 1,000
--                                    more tokens to compute in long prompts of the same minute; null with
--                                    fewer than $dose_pairs pairs
-- minutes_correlation   ratio        rank correlation of the changes of both from minute to minute
-- minutes_chance        p            probability by chance that short requests wait longer where long prompts
--                                    arrive, from minute to minute
-- replicas              count        such pairs of minutes of one replica, where others are known beside it
-- replicas_s_per_1k     s/1k tokens  the same growth at a replica beside the others in the same minute
-- replicas_correlation  ratio        rank correlation of the changes of both at a replica beside the others
-- replicas_chance       p            probability by chance that short requests wait longer where long prompts
--                                    arrive, replica beside replica in the same minute

-- Cached tokens that are not recorded of a request count as none: all its prompt is then taken as computed.
-- Of changes from one minute to the next, within a phase: two series that only rise together, as any two do
-- in an incident, say nothing of each other. What all replicas share in a minute is taken off besides.
with covered as (
    select
        incident_id,
        count(*) filter (where is_long or (not is_long and ttft_s is not null)) / count(*) as covered_ratio
    from evidence.request_phase
    where phase = 'during'
    group by incident_id
),

asked as (
    select
        incident_id,
        phase,
        replica,
        time_bucket(interval 1 minute, started_at) as minute,
        case when is_long then greatest(prompt_tokens - coalesce(cached_tokens, 0), 0) else 0 end as tokens,
        case when not is_long then ttft_s end as wait_s
    from evidence.request_phase
    where phase in ('baseline', 'during') and is_long is not null
),

cell as (
    select
        incident_id,
        phase,
        minute,
        replica,
        grouping_id(replica) = 0 as is_replica,
        sum(tokens)::bigint as tokens,
        round(1e6 * steady_avg(wait_s))::bigint as wait_us,
        count(wait_s) as waits
    from asked
    group by grouping sets ((incident_id, phase, minute), (incident_id, phase, minute, replica))
),

step as (
    select
        incident_id,
        is_replica,
        phase,
        minute,
        tokens - lag(tokens) over since as tokens,
        wait_us - lag(wait_us) over since as wait_us,
        lag(minute) over since as minute_before
    from cell
    where waits >= $dose_requests and (not is_replica or replica is not null)
    window since as (partition by incident_id, is_replica, phase, replica order by minute)
),

beside as (
    select
        incident_id,
        is_replica,
        if(is_replica, count(*) over peers, 2) as peers,
        -- of whole numbers, so that sums are the same in whatever order the rows come
        round(tokens - if(is_replica, sum(tokens) over peers / count(*) over peers, 0))::bigint as tokens,
        wait_us - if(is_replica, sum(wait_us) over peers / count(*) over peers, 0) as wait_us
    from step
    where minute_before = minute - interval 1 minute
    window peers as (partition by incident_id, is_replica, phase, minute)
),

ranked as (
    select
        incident_id,
        is_replica,
        peers,
        tokens,
        wait_us,
        -- twice the mean rank of equals, a whole number
        2 * rank() over (partition by incident_id, is_replica order by tokens)
        + count(*) over (partition by incident_id, is_replica, tokens) - 1 as tokens_rank,
        2 * rank() over (partition by incident_id, is_replica order by wait_us)
        + count(*) over (partition by incident_id, is_replica, wait_us) - 1 as wait_rank
    from beside
    where peers > 1
),

found as (
    select
        incident_id,
        is_replica,
        count(*) as pairs,
        -- a change shares a minute with the one before it, which makes a correlation vary as of so many fewer
        -- pairs; and those of a minute sum up to nothing
        sum((peers - 1) * 1000000 // peers) * if(is_replica, 1, 2) / 1.5e6 as free_pairs,
        1000 * steady_slope(wait_us / 1e6, tokens) as s_per_1k,
        sign(steady_slope(wait_rank, tokens_rank)) * sqrt(steady_r2(wait_rank, tokens_rank)) as correlation
    from ranked
    group by incident_id, is_replica
),

told as (
    select
        incident_id,
        is_replica,
        pairs,
        if(pairs >= $dose_pairs, s_per_1k, null) as s_per_1k,
        if(pairs >= $dose_pairs, correlation, null) as correlation,
        -- Fisher's z of a rank correlation; least() and greatest() would take an unknown one for their bound
        case
            when pairs >= $dose_pairs and correlation is not null
                then
                    upper_tail(
                        atanh(greatest(least(correlation, 0.999999), -0.999999))
                        * sqrt(greatest(free_pairs - 3, 0) / 1.06)
                    )
        end as chance
    from found
)

select
    covered.incident_id,
    covered.covered_ratio,
    coalesce(fleet.pairs, 0) as minutes,
    fleet.s_per_1k as minutes_s_per_1k,
    fleet.correlation as minutes_correlation,
    fleet.chance as minutes_chance,
    coalesce(own.pairs, 0) as replicas,
    own.s_per_1k as replicas_s_per_1k,
    own.correlation as replicas_correlation,
    own.chance as replicas_chance
from covered
left join told as fleet on covered.incident_id = fleet.incident_id and not fleet.is_replica
left join told as own on covered.incident_id = own.incident_id and own.is_replica

-- One row per incident and replica: how long did a token take beside what the service's replicas took in the
-- baseline at the same load?
--
-- incident_id   -          incident
-- replica       -          engine replica; null where requests do not say theirs
-- host          -          its machine
-- requests      count      requests of the window that decoded there
-- comparable    count      of these, under a load of which the baseline has 10 requests or more
-- pace          ratio      decode time a token over the baseline's median at the same load, geometric mean
--                          over comparable requests; null with fewer than 20 of them or half of all
-- pace_before   ratio      the same in the baseline, above 1 for one that was always slower than its peers

-- Load is how many requests decode on the replica at once, by half octaves, and how much of the time it works
-- on a prompt besides, by quarters; both are means over the time in which a request decodes. What is beyond
-- the baseline's loads is not guessed: a plane through them was wrong by up to two times where requests had
-- piled up.
with decoding as (
    select
        incident_id,
        phase,
        replica,
        host,
        tpot_s,
        round((epoch(started_at) + duration_s) * 1e6)::bigint as to_us,
        round((epoch(started_at) + duration_s - tpot_s * (output_tokens - 1)) * 1e6)::bigint as from_us,
        round(coalesce(prefill_s, 0) * 1e6)::bigint as prefill_us
    from evidence.request_phase
    where phase in ('baseline', 'during') and tpot_s > 0 and output_tokens > 1 and duration_s is not null
),

change as (
    select
        incident_id,
        replica,
        unnest([from_us - prefill_us, from_us, to_us]) as at_us,
        unnest([0, 1, -1]) as decoding,
        unnest([1, -1, 0]) as prefilling
    from decoding
),

step as (
    select
        incident_id,
        replica,
        at_us,
        sum(sum(decoding)) over until_now as decoding,
        least(sum(sum(prefilling)) over until_now, 1) as prefilling,
        coalesce(lead(at_us) over until_now - at_us, 0) as lasts_us
    from change
    group by incident_id, replica, at_us
    window until_now as (partition by incident_id, replica order by at_us)
),

-- what lies under the course of both numbers up to each of its steps
area as (
    select
        incident_id,
        coalesce(replica, '') as replica,
        at_us,
        sum(decoding * lasts_us) over until_now - decoding * lasts_us as decoding_us,
        sum(prefilling * lasts_us) over until_now - prefilling * lasts_us as prefilling_us
    from step
    window until_now as (partition by incident_id, replica order by at_us)
),

loaded as (
    select
        decoding.incident_id,
        decoding.phase,
        decoding.replica,
        decoding.host,
        decoding.tpot_s,
        (done.decoding_us - begun.decoding_us) / (decoding.to_us - decoding.from_us) as batch,
        (done.prefilling_us - begun.prefilling_us) / (decoding.to_us - decoding.from_us) as prompts
    from decoding
    asof inner join area as begun
        on
            decoding.incident_id = begun.incident_id
            and coalesce(decoding.replica, '') = begun.replica
            and decoding.from_us >= begun.at_us
    asof inner join area as done
        on
            decoding.incident_id = done.incident_id
            and coalesce(decoding.replica, '') = done.replica
            and decoding.to_us >= done.at_us
    where decoding.to_us > decoding.from_us
),

binned as (
    select
        *,
        round(2 * log2(greatest(batch, 1))) as batch_bin,
        round(4 * prompts) as prompts_bin
    from loaded
),

usual as (
    select
        incident_id,
        batch_bin,
        prompts_bin,
        quantile_cont(tpot_s, 0.5) as tpot_s
    from binned
    where phase = 'baseline'
    group by incident_id, batch_bin, prompts_bin
    having count(*) >= 10
),

beside as (
    select
        binned.incident_id,
        binned.phase,
        binned.replica,
        binned.host,
        ln(binned.tpot_s / usual.tpot_s) as lag
    from binned
    left join usual
        on
            binned.incident_id = usual.incident_id
            and binned.batch_bin = usual.batch_bin
            and binned.prompts_bin = usual.prompts_bin
)

select
    incident_id,
    replica,
    max(host) as host,
    count_if(phase = 'during') as requests,
    count(lag) filter (where phase = 'during') as comparable,
    case
        when count(lag) filter (where phase = 'during') >= greatest(20, 0.5 * count_if(phase = 'during'))
            then exp(steady_avg(case when phase = 'during' then lag end))
    end as pace,
    case
        when count(lag) filter (where phase = 'baseline') >= 20
            then exp(steady_avg(case when phase = 'baseline' then lag end))
    end as pace_before
from beside
group by incident_id, replica
order by incident_id, replica

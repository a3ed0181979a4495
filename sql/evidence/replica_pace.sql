-- One row per incident and replica: how long did a token take beside what the service's replicas took in the
-- baseline at the same load?
--
-- incident_id   -          incident
-- replica       -          engine replica; null where requests do not say theirs
-- host          -          its machine
-- requests      count      requests of the window that decoded there
-- comparable    count      of these, under a load of which the baseline has 10 requests or more
-- pace          ratio      decode time a token over what is usual at the same load, geometric mean over the
--                          requests; null with fewer than 20 of them for which that is known
-- pace_before   ratio      the same in the baseline, above 1 for one that was always slower than its peers

-- Load is the number of requests that decode on the replica at once, by half octaves, and how much of
-- the time it works on prompts besides, by quarters; both are means over the time in which a request
-- decodes. What is usual is the baseline's median under that load. For a load that the baseline lacks,
-- as when requests pile up, it follows from a plane through those medians: a step takes the longer,
-- the more requests it serves and the more of a prompt it works on.
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
        count(*) as requests,
        steady_avg(batch) as batch,
        steady_avg(prompts) as prompts,
        quantile_cont(tpot_s, 0.5) as tpot_s
    from binned
    where phase = 'baseline'
    group by incident_id, batch_bin, prompts_bin
    having count(*) >= 10
),

middle as (
    select
        incident_id,
        steady_sum(requests * batch) / sum(requests) as batch,
        steady_sum(requests * prompts) / sum(requests) as prompts,
        steady_sum(requests * tpot_s) / sum(requests) as tpot_s
    from usual
    group by incident_id
),

centred as (
    select
        usual.*,
        usual.batch - middle.batch as x,
        usual.prompts - middle.prompts as y,
        usual.tpot_s - middle.tpot_s as z
    from usual
    inner join middle on usual.incident_id = middle.incident_id
),

moment as (
    select
        incident_id,
        steady_sum(requests * x * x) as xx,
        steady_sum(requests * x * y) as xy,
        steady_sum(requests * y * y) as yy,
        steady_sum(requests * x * z) as xz,
        steady_sum(requests * y * z) as yz
    from centred
    group by incident_id
),

-- least squares, each median by its requests; more load never quickens a step
plane as (
    select
        middle.*,
        greatest((xz * yy - yz * xy) / (xx * yy - xy * xy), 0) as per_request_s,
        greatest((yz * xx - xz * xy) / (xx * yy - xy * xy), 0) as per_prompt_s
    from middle
    inner join moment on middle.incident_id = moment.incident_id
    -- loads of one kind, or on one line, span no plane
    where xx * yy - xy * xy > 1e-9 * xx * yy
),

beside as (
    select
        binned.incident_id,
        binned.phase,
        binned.replica,
        binned.host,
        usual.tpot_s is not null as is_comparable,
        ln(
            binned.tpot_s
            / coalesce(
                usual.tpot_s,
                plane.tpot_s
                + plane.per_request_s * (binned.batch - plane.batch)
                + plane.per_prompt_s * (binned.prompts - plane.prompts)
            )
        ) as lag
    from binned
    left join usual
        on
            binned.incident_id = usual.incident_id
            and binned.batch_bin = usual.batch_bin
            and binned.prompts_bin = usual.prompts_bin
    left join plane on binned.incident_id = plane.incident_id
)

select
    incident_id,
    replica,
    max(host) as host,
    count_if(phase = 'during') as requests,
    count_if(phase = 'during' and is_comparable) as comparable,
    case
        when count(lag) filter (where phase = 'during') >= 20
            then exp(steady_avg(case when phase = 'during' then lag end))
    end as pace,
    case
        when count(lag) filter (where phase = 'baseline') >= 20
            then exp(steady_avg(case when phase = 'baseline' then lag end))
    end as pace_before
from beside
group by incident_id, replica
order by incident_id, replica

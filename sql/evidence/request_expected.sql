-- One row per incident and request of its baseline or its window that latency is taken over: was it slow for
-- what it asked?
--
-- incident_id  -        incident
-- phase        -        baseline or during
-- request_key  -        norm.request.request_key
-- duration_s   s        total time
-- expected_s   s        what its prompt and answer take in the baseline, by a least squares fit over both
--                       lengths; the baseline's mean where a length is not known
-- limit_s      s        the longest that is usual for that: expected_s times the $segment_slow_quantile
--                       quantile of duration_s over expected_s, of the baseline's requests of like expected_s
-- is_slow      boolean  it took longer

with request as (
    select
        incident_id,
        phase,
        request_key,
        duration_s,
        prompt_tokens,
        output_tokens
    from evidence.request_phase
    where counts_for_latency and phase in ('baseline', 'during')
),

bounds as (
    select
        incident_id,
        quantile_cont(duration_s, 0.01) as quickest_s,
        quantile_cont(duration_s, 0.99) as slowest_s,
        steady_avg(duration_s) as mean_s
    from request
    where phase = 'baseline'
    group by incident_id
),

-- Without its slowest hundredth: a least squares fit follows a single request that hung.
sums as (
    select
        request.incident_id,
        count(*)::double as n,
        sum(prompt_tokens)::double as p,
        sum(output_tokens)::double as o,
        sum(prompt_tokens::hugeint * prompt_tokens)::double as pp,
        sum(output_tokens::hugeint * output_tokens)::double as oo,
        sum(prompt_tokens::hugeint * output_tokens)::double as po,
        steady_sum(duration_s) as y,
        steady_sum(duration_s * prompt_tokens) as py,
        steady_sum(duration_s * output_tokens) as oy
    from request
    inner join bounds on request.incident_id = bounds.incident_id
    where
        phase = 'baseline' and duration_s <= slowest_s
        and prompt_tokens is not null and output_tokens is not null
    group by request.incident_id
),

spread as (
    select
        *,
        pp - p * p / n as vpp,
        oo - o * o / n as voo,
        po - p * o / n as vpo,
        py - p * y / n as vpy,
        oy - o * y / n as voy
    from sums
),

-- Neither a longer prompt nor a longer answer takes less time: a slope below 0 is 0, and the other is taken
-- alone, as where the two lengths go together.
slopes as (
    select
        incident_id,
        n,
        p,
        o,
        y,
        vpp * voo - vpo * vpo > 1e-6 * vpp * voo
        and vpy * voo - voy * vpo > 0
        and voy * vpp - vpy * vpo > 0 as has_both,
        vpy / nullif(vpp, 0) as of_prompt,
        voy / nullif(voo, 0) as of_output,
        (vpy * voo - voy * vpo) / nullif(vpp * voo - vpo * vpo, 0) as of_prompt_beside,
        (voy * vpp - vpy * vpo) / nullif(vpp * voo - vpo * vpo, 0) as of_output_beside,
        -- of one length alone, the one that explains more
        coalesce(vpy * vpy / nullif(vpp, 0), 0) > coalesce(voy * voy / nullif(voo, 0), 0) as is_prompt
    from spread
),

fit as (
    select
        incident_id,
        case when has_both then of_prompt_beside when is_prompt then greatest(of_prompt, 0) else 0 end
            as prompt_s,
        case
            when has_both then of_output_beside
            when not is_prompt then greatest(coalesce(of_output, 0), 0)
            else 0
        end as output_s,
        (y - p * prompt_s - o * output_s) / n as rest_s
    from slopes
),

-- Of its own length where that is known; a band is a doubling of the expected time.
expected as (
    select
        request.*,
        greatest(
            coalesce(rest_s + prompt_tokens * prompt_s + output_tokens * output_s, mean_s), quickest_s
        ) as expected_s,
        case
            when prompt_tokens is not null and output_tokens is not null and rest_s is not null
                then floor(log2(expected_s))::integer
        end as band
    from request
    inner join bounds on request.incident_id = bounds.incident_id
    left join fit on request.incident_id = fit.incident_id
    where quickest_s > 0
),

-- A 95th percentile of a hundred requests rests on five of them; a band of fewer has that of all.
usual as (
    select
        incident_id,
        band,
        grouping(band) = 1 as is_all,
        quantile_cont(duration_s / expected_s, $segment_slow_quantile) as limit_ratio
    from expected
    where phase = 'baseline'
    group by grouping sets ((incident_id, band), (incident_id))
    having count(*) >= 100 or grouping(band) = 1
)

select
    expected.incident_id,
    expected.phase,
    expected.request_key,
    expected.duration_s,
    expected.expected_s,
    expected.expected_s * coalesce(own.limit_ratio, everyone.limit_ratio) as limit_s,
    expected.duration_s > expected.expected_s * coalesce(own.limit_ratio, everyone.limit_ratio) as is_slow
from expected
left join usual as own
    on
        expected.incident_id = own.incident_id
        and expected.band is not distinct from own.band
        and not own.is_all
left join usual as everyone on expected.incident_id = everyone.incident_id and everyone.is_all

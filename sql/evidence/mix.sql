-- One row per incident: did requests slow, or did only their mix change?
--
-- incident_id          -          incident
-- covered_ratio        ratio 0-1  requests of the window whose class is known
-- slow_ratio           ratio 0-1  share of requests slower than the baseline's 99th percentile
-- slow_ratio_before    ratio 0-1  the same in the baseline
-- mix_share            ratio 0-1  part of the rise of that share which comes from the mix of classes
--                                 (Kitagawa 1955)
-- class_p50_ratio      ratio      median latency during over before, mean over classes, each by its requests
--                                 during
-- slowed_class_ratio   ratio      90th percentile of latency during over before, of the class that slowed
--                                 most
-- tokens_per_s         tokens/s   prompt and output tokens a second, of the requests whose both are known
-- tokens_per_s_before  tokens/s   the same in the baseline

-- A class is prompt length and output length, each by powers of two: what a request asks of the engine.
with classed as (
    select
        request_phase.incident_id,
        phase,
        phase_minutes,
        duration_s,
        prompt_tokens + output_tokens as tokens,
        case
            -- greatest() leaves nulls out, and an unknown length is no class
            when prompt_tokens is not null and output_tokens is not null
                then
                    floor(log2(greatest(prompt_tokens, 1)))::integer * 100
                    + floor(log2(greatest(output_tokens, 1)))::integer
        end as class
    from evidence.request_phase
    where counts_for_latency and phase in ('baseline', 'during')
),

limit_of as (
    select
        incident_id,
        quantile_cont(duration_s, 0.99) as limit_s
    from classed
    where phase = 'baseline'
    group by incident_id
),

total as (
    select
        incident_id,
        count(class) filter (where phase = 'during') as n1,
        count(class) filter (where phase = 'baseline') as n0,
        count(class) filter (where phase = 'during') / nullif(count_if(phase = 'during'), 0) as covered_ratio,
        steady_sum(case when phase = 'during' then tokens end)
        / (60 * any_value(phase_minutes) filter (where phase = 'during')) as tokens_per_s,
        steady_sum(case when phase = 'baseline' then tokens end)
        / (60 * any_value(phase_minutes) filter (where phase = 'baseline')) as tokens_per_s_before
    from classed
    group by incident_id
),

per_class as (
    select
        classed.incident_id,
        classed.class,
        count_if(phase = 'during') as n1,
        count_if(phase = 'baseline') as n0,
        count_if(phase = 'during' and duration_s > limit_s) / nullif(count_if(phase = 'during'), 0) as r1,
        count_if(phase = 'baseline' and duration_s > limit_s) / nullif(count_if(phase = 'baseline'), 0) as r0,
        quantile_cont(duration_s, 0.5) filter (where phase = 'during')
        / nullif(quantile_cont(duration_s, 0.5) filter (where phase = 'baseline'), 0) as p50_ratio,
        quantile_cont(duration_s, 0.9) filter (where phase = 'during')
        / nullif(quantile_cont(duration_s, 0.9) filter (where phase = 'baseline'), 0) as p90_ratio
    from classed
    inner join limit_of on classed.incident_id = limit_of.incident_id
    where classed.class is not null
    group by classed.incident_id, classed.class
),

-- Kitagawa: the difference of two weighted rates is a part from the weights and a part from the rates.
-- A class seen in one phase only has no rate in the other; its rate is taken to have been the same, so that
-- all of it is mix.
split as (
    select
        per_class.incident_id,
        steady_sum(
            (per_class.n1 / total.n1 - per_class.n0 / total.n0) * (coalesce(r1, r0) + coalesce(r0, r1)) / 2
        ) as mix_part,
        steady_sum(
            (coalesce(r1, r0) - coalesce(r0, r1)) * (per_class.n1 / total.n1 + per_class.n0 / total.n0) / 2
        ) as rate_part,
        steady_sum(per_class.n1 * p50_ratio)
        / steady_sum(case when p50_ratio is not null then per_class.n1 end) as class_p50_ratio,
        -- 30 requests a phase, so that a 90th percentile rests on three of them at least
        max(p90_ratio) filter (where per_class.n1 >= 30 and per_class.n0 >= 30) as slowed_class_ratio
    from per_class
    inner join total on per_class.incident_id = total.incident_id
    group by per_class.incident_id
),

slow as (
    select
        classed.incident_id,
        count_if(phase = 'during' and duration_s > limit_s)
        / nullif(count_if(phase = 'during'), 0) as slow_ratio,
        count_if(phase = 'baseline' and duration_s > limit_s)
        / nullif(count_if(phase = 'baseline'), 0) as slow_ratio_before
    from classed
    inner join limit_of on classed.incident_id = limit_of.incident_id
    group by classed.incident_id
)

select
    slow.incident_id,
    total.covered_ratio,
    slow.slow_ratio,
    slow.slow_ratio_before,
    case
        when split.mix_part + split.rate_part > 0 then split.mix_part / (split.mix_part + split.rate_part)
    end as mix_share,
    split.class_p50_ratio,
    split.slowed_class_ratio,
    total.tokens_per_s,
    total.tokens_per_s_before
from slow
inner join total on slow.incident_id = total.incident_id
left join split on slow.incident_id = split.incident_id

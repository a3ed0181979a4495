-- One row per service: from which length on its prompts are long, and why from there. One length for all
-- minutes of a service, so that they can be compared.
--
-- service            -          service that answered
-- long_from_tokens   tokens     a prompt of this length or more is long
-- chosen             -          set: by the user. valley: from the lengths. default: no length parts them
-- why                -          how it was chosen, or why the default stands
-- counted            count      requests with a known prompt length, probes left out
-- long_requests      count      of these, long
-- long_ratio         ratio 0-1  long_requests over counted
-- short_mean_tokens  tokens     length of the others, mean
-- long_mean_tokens   tokens     length of the long, mean

-- An eighth of an octave a step: 9 % longer than the one before.
with counted as (
    select
        service,
        floor(8 * log2(prompt_tokens))::bigint as step,
        count(*) as requests,
        sum(prompt_tokens) as tokens
    from norm.request
    where not is_probe and prompt_tokens > 0
    group by service, step
),

every as (
    select
        service,
        unnest(range(min(step) - 3, max(step) + 4)) as step
    from counted
    group by service
),

-- Neighbours count too, the nearer the more: half an octave is seen as one.
neighboured as (
    select
        every.service,
        every.step,
        coalesce(any_value(counted.requests) filter (where counted.step = every.step), 0) as requests,
        coalesce(any_value(counted.tokens) filter (where counted.step = every.step), 0) as tokens,
        coalesce(sum(counted.requests * (4 - abs(counted.step - every.step))), 0) as height
    from every
    left join counted
        on
            every.service = counted.service
            and every.step - 3 <= counted.step
            and every.step + 3 >= counted.step
    group by every.service, every.step
),

smoothed as (
    select
        *,
        sum(requests) over (partition by service order by step) as requests_up_to,
        sum(requests) over (partition by service) as all_requests
    from neighboured
),

parted as (
    select
        service,
        step,
        height,
        least(max(height) over up_to, max(height) over from_here) as peak,
        sum(requests) over from_here as long_requests,
        all_requests,
        sum(tokens) over from_here as long_tokens,
        sum(tokens) over whole as all_tokens,
        sum(tokens * step) over from_here as long_moment,
        sum(tokens * step) over whole as all_moment,
        min(step) filter (where 2 * requests_up_to >= all_requests) over whole as middle
    from smoothed
    window
        whole as (partition by service),
        up_to as (partition by service order by step),
        from_here as (partition by service order by step desc)
),

-- Between two modes there is a valley: lengths at which few requests lie, beside the lower of the modes, and
-- fewer than by chance: a count weighted 1 to 4 and back varies by its 44 / 16 = 2.75.
valley as (
    select
        service,
        step,
        height / peak as depth,
        ceil(pow(2, step / 8)) as tokens,
        long_requests / all_requests as long_ratio,
        -- Otsu's measure of how well it parts the logarithms, by tokens, since what is long matters by its
        -- work; the deeper the better, as his alone finds the valley but not its bottom
        (1 - height / peak) * (all_tokens - long_tokens)::double * long_tokens::double * pow(
            (all_moment - long_moment)::double / (all_tokens - long_tokens)::double
            - long_moment::double / long_tokens::double,
            2
        ) as parts,
        step > middle + 8 * log2($long_least_times) as is_apart
    from parted
    where
        height <= $long_valley_depth * peak
        and peak - height > $long_valley_sigmas * sqrt(2.75 * (peak + height))
),

judged as (
    select
        *,
        case
            when tokens < $long_least_tokens or tokens > $long_most_tokens then 0
            when long_ratio > $long_most_ratio then 1
            when not is_apart then 2
            else 3
        end as passed
    from valley
),

best as (
    select
        *,
        max(parts) over (partition by service, passed) as best_parts,
        max(passed) over (partition by service) as best_passed
    from judged
),

-- In a gap without any request all steps part alike: its middle.
split as (
    select
        service,
        any_value(passed) as passed,
        quantile_disc(step, 0.5) as step
    from best
    where parts = best_parts and passed = best_passed
    group by service
),

told as (
    select
        split.service,
        split.passed,
        valley.depth,
        valley.long_ratio,
        -- two digits are what people keep in mind
        round(valley.tokens, 1 - floor(log10(valley.tokens))::integer)::bigint as tokens
    from split
    inner join valley on split.service = valley.service and split.step = valley.step
),

known as (
    select
        service,
        count(prompt_tokens) as counted
    from norm.request
    where not is_probe
    group by service
),

chosen as (
    select
        known.service,
        case
            when $long_context_tokens > 0 then $long_context_tokens
            when told.passed = 3 then told.tokens
            else $long_default_tokens
        end::bigint as long_from_tokens,
        case
            when $long_context_tokens > 0 then 'set'
            when told.passed = 3 then 'valley'
            else 'default'
        end as chosen,
        case
            when $long_context_tokens > 0 then 'set by the user'
            when known.counted = 0 then 'no prompt length is known'
            when told.service is null then 'the lengths have no clear second mode'
            when told.passed = 0
                then format(
                    'the lengths part at {:,} tokens, which is outside {:,} to {:,}',
                    told.tokens, $long_least_tokens::bigint, $long_most_tokens::bigint
                )
            when told.passed = 1
                then format(
                    'the lengths part at {:,} tokens, but {:.0f} % of the requests are longer',
                    told.tokens, 100 * told.long_ratio
                )
            when told.passed = 2
                then format(
                    'the lengths part at {:,} tokens, which is less than {} times the usual length',
                    told.tokens, $long_least_times
                )
            else format(
                'the lengths part here: {:.0f} % as many requests as at the lower of the modes beside it',
                100 * told.depth
            )
        end as why
    from known
    left join told on known.service = told.service
)

select
    chosen.service,
    chosen.long_from_tokens,
    chosen.chosen,
    chosen.why,
    count(request.prompt_tokens) as counted,
    count_if(request.prompt_tokens >= chosen.long_from_tokens) as long_requests,
    count_if(request.prompt_tokens >= chosen.long_from_tokens) / nullif(count(request.prompt_tokens), 0)
        as long_ratio,
    sum(request.prompt_tokens) filter (where request.prompt_tokens < chosen.long_from_tokens)::double
    / nullif(count_if(request.prompt_tokens < chosen.long_from_tokens), 0) as short_mean_tokens,
    sum(request.prompt_tokens) filter (where request.prompt_tokens >= chosen.long_from_tokens)::double
    / nullif(count_if(request.prompt_tokens >= chosen.long_from_tokens), 0) as long_mean_tokens
from chosen
inner join norm.request as request on chosen.service = request.service
where not request.is_probe
group by all
order by chosen.service

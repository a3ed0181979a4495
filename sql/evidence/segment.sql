-- One row per incident and kind of request: how many were there, and how many slow for what they asked? A
-- kind is what its requests have in common, as far as that is frequent enough to be looked at: a value with
-- $segment_support of the slow requests or of the work, and of those the $segment_values with most.
--
-- incident_id        -          incident
-- attributes         -          names of what is frequent about them, a to z
-- items              -          the values of these attributes, in the same order
-- part               -          sixth of the window in which they arrived, 0 to 5; of the baseline's 0
-- requests           count      requests during the incident that latency is taken over
-- slow_requests      count      those of them that evidence.request_expected calls slow
-- work_s             s          their expected_s, summed
-- requests_before    count      requests in the baseline
-- work_before_s      s          their expected_s, summed
-- minutes            min        length of the window
-- minutes_before     min        length of the baseline
-- values_seen        count      different values of all attributes during the incident, rare ones as well

with described as (
    select
        -- joins by a whole number take half the time of joins by incident, phase and key
        row_number() over () as id,
        expected.incident_id,
        expected.phase,
        expected.expected_s,
        expected.is_slow,
        phase.minutes,
        if(
            expected.phase = 'during',
            least(
                floor(6 * (epoch(request.started_at) - epoch(phase.from_at)) / (60 * phase.minutes)), 5
            ),
            0
        )::integer as part,
        request.tenant,
        request.model,
        request.path,
        left(request.user_agent, 120) as user_agent,
        request.replica,
        case when request.is_streaming then 'yes' when not request.is_streaming then 'no' end as streaming,
        ip_net(request.client_ip_key) as client_net,
        -- powers of two, as 1024-2047; greatest() would make 1 of an unknown length
        floor(log2(if(request.prompt_tokens = 0, 1, request.prompt_tokens)))::integer as prompt_doublings,
        floor(log2(if(request.output_tokens = 0, 1, request.output_tokens)))::integer as output_doublings
    from evidence.request_expected as expected
    inner join norm.request on expected.request_key = request.request_key
    inner join evidence.phase on expected.incident_id = phase.incident_id and expected.phase = phase.phase
),

item as (
    select
        id,
        incident_id,
        phase,
        expected_s,
        is_slow,
        unnest(
            [
                'client_net',
                'model',
                'output_tokens',
                'path',
                'prompt_tokens',
                'replica',
                'streaming',
                'tenant',
                'user_agent'
            ]
        ) as attribute,
        unnest(
            [
                client_net,
                model,
                (1::bigint << output_doublings) || '-' || ((2::bigint << output_doublings) - 1),
                path,
                (1::bigint << prompt_doublings) || '-' || ((2::bigint << prompt_doublings) - 1),
                replica,
                streaming,
                tenant,
                user_agent
            ]
        ) as value
    from described
),

counted as (
    select
        incident_id,
        attribute,
        value,
        count_if(is_slow) as slow_requests,
        steady_sum(expected_s) as work_s
    from item
    where phase = 'during' and value is not null
    group by incident_id, attribute, value
),

total as (
    select
        incident_id,
        count_if(is_slow) as slow_requests,
        steady_sum(expected_s) as work_s
    from described
    where phase = 'during'
    group by incident_id
),

ranked as (
    select
        counted.incident_id,
        attribute,
        value,
        coalesce(counted.slow_requests / nullif(total.slow_requests, 0), 0) as slow_share,
        greatest(slow_share, counted.work_s / total.work_s) as support,
        count(*) over (partition by counted.incident_id) as values_seen,
        row_number() over (
            partition by counted.incident_id
            order by greatest(slow_share, counted.work_s / total.work_s) desc, attribute asc, value asc
        ) as place
    from counted
    inner join total on counted.incident_id = total.incident_id
),

frequent as (
    select
        incident_id,
        attribute,
        value
    from ranked
    where support >= $segment_support and place <= $segment_values
),

labelled as (
    select
        item.id,
        list(item.attribute order by item.attribute) as attributes,
        list(item.value order by item.attribute) as items
    from item
    inner join frequent
        on
            item.incident_id = frequent.incident_id
            and item.attribute = frequent.attribute
            and item.value = frequent.value
    group by item.id
),

per_incident as (
    select
        described.incident_id,
        max(minutes) filter (where phase = 'during') as minutes,
        max(minutes) filter (where phase = 'baseline') as minutes_before,
        max(ranked.values_seen) as values_seen
    from described
    left join ranked on described.incident_id = ranked.incident_id and ranked.place = 1
    group by described.incident_id
)

select
    described.incident_id,
    coalesce(labelled.attributes, []) as attributes,
    coalesce(labelled.items, []) as items,
    described.part,
    count_if(described.phase = 'during') as requests,
    count_if(described.phase = 'during' and described.is_slow) as slow_requests,
    coalesce(steady_sum(case when described.phase = 'during' then described.expected_s end), 0) as work_s,
    count_if(described.phase = 'baseline') as requests_before,
    coalesce(steady_sum(case when described.phase = 'baseline' then described.expected_s end), 0)
        as work_before_s,
    any_value(per_incident.minutes) as minutes,
    any_value(per_incident.minutes_before) as minutes_before,
    any_value(per_incident.values_seen) as values_seen
from described
inner join per_incident on described.incident_id = per_incident.incident_id
left join labelled on described.id = labelled.id
group by described.incident_id, labelled.attributes, labelled.items, described.part

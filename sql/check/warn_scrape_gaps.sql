-- Metrics were scraped without gaps: no interval is longer than three times the usual one of its source.
--
-- Minutes within a gap have no value; what happened there cannot be told.

with interval_of as (
    select
        record,
        coalesce(replica, gpu, host) as origin,
        interval_s
    from norm.metric
    where record is not null and interval_s > 0
),

usual as (
    select
        record,
        origin,
        median(interval_s) as usual_s
    from interval_of
    group by record, origin
)

select
    interval_of.record,
    interval_of.origin,
    max(interval_of.interval_s) as longest_s,
    max(usual.usual_s) as usual_s
from interval_of
inner join usual
    on interval_of.record = usual.record and interval_of.origin is not distinct from usual.origin
where interval_of.interval_s > 3 * usual.usual_s
group by interval_of.record, interval_of.origin

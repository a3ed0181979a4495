-- Metrics were scraped without gaps: no interval is longer than three times the usual one.
--
-- Minutes within a gap have no value; what happened there cannot be told.

with usual as (
    select
        record,
        median(interval_s) as usual_s
    from norm.metric
    where record is not null and interval_s > 0
    group by record
)

select
    metric.record,
    coalesce(metric.replica, metric.gpu, metric.host) as origin,
    max(metric.interval_s) as longest_s,
    any_value(usual.usual_s) as usual_s
from norm.metric
inner join usual on metric.record = usual.record
where metric.interval_s > 3 * usual.usual_s
group by metric.record, origin

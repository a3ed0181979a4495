-- One row per incident and minute around it: prefix-cache hits of its service.
--
-- incident_id  -          incident
-- minute       UTC        start of the minute
-- hit_ratio    ratio 0-1  hits over look-ups

select
    course.incident_id,
    course.minute,
    cache.hit_ratio
from report.latency_course as course
inner join raw.incident on course.incident_id = incident.incident_id
inner join mart.cache_minute as cache on incident.service = cache.service and course.minute = cache.minute
order by course.incident_id, course.minute

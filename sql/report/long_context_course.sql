-- One row per incident and minute around it: share of long prompts of its service.
--
-- incident_id         -          incident
-- minute              UTC        start of the minute
-- long_context_ratio  ratio 0-1  share of requests with a long prompt

select
    course.incident_id,
    course.minute,
    mix.long_context_ratio
from report.latency_course as course
inner join raw.incident on course.incident_id = incident.incident_id
inner join mart.mix_minute as mix on incident.service = mix.service and course.minute = mix.minute
order by course.incident_id, course.minute

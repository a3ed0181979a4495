-- One row per run's diagnosis: what the report says, as JSON, so that it can be rendered again.
--
-- diagnosis  -  causes, evidence, ranges, timeline and data quality

create table if not exists meta.diagnosis (
    diagnosis varchar not null
)

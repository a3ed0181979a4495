-- One row per service and machine whose GPUs count as the service's own.
--
-- service  -  service
-- host     -  machine, as GPU metrics call it; null for GPUs whose metrics name none

-- The machines of its replicas; all, where spans do not say which those are, or call them by other names.
with gpu as (
    select distinct host from mart.gpu_minute
),

own as (
    select distinct
        service,
        host
    from norm.replica
    where host in (select gpu.host from gpu)
)

select
    request.service,
    gpu.host
from (select distinct service from norm.request) as request
cross join gpu
left join own on request.service = own.service and gpu.host = own.host
where
    own.host is not null or not exists (
        select 1 from own as any_own
        where any_own.service = request.service
    )

-- One row per pair of machines, as the report shows it: how far their clocks are apart.
--
-- service        -        service
-- gateway_host   -        machine of the gateway span
-- engine_host    -        machine of the engine span
-- requests       count    requests with both
-- offset_low_s   s        clock of the engine's machine less that of the gateway's, at least
-- offset_high_s  s        the same, at most
-- has_moved      boolean  no offset fits all requests: a clock moved

select
    service,
    gateway_host,
    engine_host,
    requests,
    offset_low_s,
    offset_high_s,
    offset_low_s > offset_high_s as has_moved
from mart.clock_offset
order by service, gateway_host, engine_host

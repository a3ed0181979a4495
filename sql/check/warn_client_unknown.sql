-- The client of a request is known: its address, or the last hop before the proxies.
--
-- Requests without one are left out of address ranges; junk in X-Forwarded-For looks like this.

select
    service,
    count_if(client_ip is null) as unknown,
    count(*) as requests
from norm.request
where not is_probe
group by service
having count_if(client_ip is null) > 0.01 * count(*)

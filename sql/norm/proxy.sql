-- One row per peer address that is a proxy, so that the X-Forwarded-For it sends is believed.
--
-- address   -      peer address, canonical text
-- requests  count  requests that came over it
-- clients   count  different X-Forwarded-For values it sent
-- shown_by  -      user: named by --trusted-proxies; data: internal, and forwards for others nearly always

with seen as (
    select
        peer_address,
        forwarded_for
    from raw.access
    union all
    select
        peer_address,
        coalesce(forwarded_for, nullif(client_address, peer_address)) as forwarded_for
    from raw.span
),

peers as (
    select
        peer_address,
        count(*) as requests,
        count(forwarded_for) as forwarded,
        count(distinct forwarded_for) as clients
    from seen
    where peer_address is not null
    group by peer_address
)

select
    address.canonical as address,
    sum(peers.requests)::bigint as requests,
    sum(peers.clients)::bigint as clients,
    case when bool_or(address.is_trusted) then 'user' else 'data' end as shown_by
from peers
inner join raw.address on address.text = peers.peer_address
where
    address.canonical is not null
    and (
        address.is_trusted
        -- a public peer could forge the header, an internal one that always forwards is a load balancer
        or (
            address.is_internal
            and peers.requests >= $proxy_min_requests
            and peers.clients >= 2
            and peers.forwarded >= $proxy_forwarded_ratio * peers.requests
        )
    )
group by address.canonical

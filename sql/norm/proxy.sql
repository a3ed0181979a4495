-- One row per address that is a proxy, so that what it puts into X-Forwarded-For is believed.
--
-- address   -      address, canonical text
-- requests  count  requests that came over it
-- clients   count  different chains of addresses it forwarded for
-- shown_by  -      user: named by --trusted-proxies; data: internal, and forwards for others nearly always

with seen as (
    select
        peer_address,
        forwarded_for
    from raw.access
    union all
    select
        coalesce(peer_address, client_address) as peer_address,
        -- a client that is not the peer was read from a header by the producer of the span
        coalesce(forwarded_for, case when client_address != peer_address then client_address end)
            as forwarded_for
    from raw.span
    where span_kind in (0, 2)
),

pairs as (
    select
        peer_address,
        coalesce(forwarded_for, '') as forwarded_for,
        count(*) as requests
    from seen
    where peer_address is not null
    group by peer_address, coalesce(forwarded_for, '')
),

chains as (
    select
        -- in whatever order: it only holds a pair together
        row_number() over () as pair_no,
        requests,
        hop_chain(peer_address, forwarded_for) as chain
    from pairs
),

hops as (
    select
        pair_no,
        requests,
        chain,
        unnest(chain) as hop,
        generate_subscripts(chain, 1) as position
    from chains
),

near as (
    select
        hops.requests,
        hops.position,
        address.canonical,
        address.is_trusted,
        nullif(array_to_string(hops.chain[hops.position + 1:], ','), '') as forwarded_for,
        -- whether all hops up to this one are near
        row_number() over (partition by hops.pair_no order by hops.position) = hops.position as is_reached
    from hops
    inner join raw.address on hops.hop = address.text
    -- a public peer could forge the header, an internal one that always forwards is a load balancer
    where address.is_internal or address.is_trusted
)

select
    canonical as address,
    sum(requests)::bigint as requests,
    count(distinct forwarded_for) as clients,
    case when bool_or(is_trusted) then 'user' else 'data' end as shown_by
from near
where is_reached and canonical is not null
group by canonical
having
    bool_or(is_trusted)
    or (
        sum(requests) >= $proxy_min_requests
        and count(distinct forwarded_for) >= 2
        and sum(case when forwarded_for is not null then requests else 0 end)
        >= $proxy_forwarded_ratio * sum(requests)
    )

-- One row per pair of peer address and X-Forwarded-For value, with the client behind it.
--
-- peer_address   -      address at the other end of the connection, as written
-- forwarded_for  -      X-Forwarded-For as received; empty text if there was none
-- client_ip      -      client, canonical text: the last hop before the proxies; null if that hop is no
--                       address
-- client_ip_key  -      the same as a number (IPv4 as ::ffff:0:0/96)
-- hops           count  entries of X-Forwarded-For
-- believed       -      peer: not a proxy, header ignored; forwarded: header followed; junk: hop is no
--                       address

with seen as (
    select
        peer_address,
        forwarded_for
    from raw.access
    union all
    select
        coalesce(peer_address, client_address) as peer_address,
        forwarded_for
    from raw.span
    where span_kind in (0, 2)
),

pairs as (
    select distinct
        peer_address,
        coalesce(forwarded_for, '') as forwarded_for
    from seen
    where peer_address is not null
),

chains as (
    select
        peer_address,
        forwarded_for,
        hop_chain(peer_address, forwarded_for) as chain
    from pairs
),

hops as (
    select
        chains.peer_address,
        chains.forwarded_for,
        len(chains.chain) - 1 as header_hops,
        unnest(chains.chain) as hop,
        generate_subscripts(chains.chain, 1) as position
    from chains
),

judged as (
    select
        hops.peer_address,
        hops.forwarded_for,
        hops.header_hops,
        hops.position,
        address.canonical,
        address.key_hi,
        address.key_lo,
        proxy.address is not null or coalesce(address.is_trusted, false) as is_proxy
    from hops
    left join raw.address on hops.hop = address.text
    left join norm.proxy on address.canonical = proxy.address
),

chosen as (
    select
        peer_address,
        forwarded_for,
        max(header_hops) as header_hops,
        -- the first hop that is no proxy; if all are, the outermost
        coalesce(min(position) filter (where not is_proxy), max(position)) as position
    from judged
    group by peer_address, forwarded_for
)

select
    chosen.peer_address,
    chosen.forwarded_for,
    judged.canonical as client_ip,
    (judged.key_hi::uhugeint << 64) | judged.key_lo::uhugeint as client_ip_key,
    chosen.header_hops::integer as hops,
    case
        when judged.canonical is null then 'junk'
        when chosen.position = 1 then 'peer'
        else 'forwarded'
    end as believed
from chosen
inner join judged
    on
        chosen.peer_address = judged.peer_address
        and chosen.forwarded_for = judged.forwarded_for
        and chosen.position = judged.position

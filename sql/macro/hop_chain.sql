-- The hops of a request from the connection outwards: the peer, then X-Forwarded-For from right to left.
create or replace macro hop_chain(peer_address, forwarded_for) as
list_concat(
    [peer_address],
    list_filter(
        list_transform(list_reverse(string_split(forwarded_for, ',')), lambda hop: trim(hop)),
        lambda hop: hop != ''
    )
)

-- The network of an address as text, from its number: the /24 of an IPv4 address, the /64 of an IPv6 address.
create or replace macro ip_net(ip_key) as
case
    when ip_key is null then null
    when (ip_key >> 32) = 65535::uhugeint
        then concat_ws(
            '.',
            ((ip_key >> 24) & 255::uhugeint)::integer,
            ((ip_key >> 16) & 255::uhugeint)::integer,
            ((ip_key >> 8) & 255::uhugeint)::integer,
            '0/24'
        )
    else concat_ws(
        ':',
        lower(to_hex(((ip_key >> 112) & 65535::uhugeint)::integer)),
        lower(to_hex(((ip_key >> 96) & 65535::uhugeint)::integer)),
        lower(to_hex(((ip_key >> 80) & 65535::uhugeint)::integer)),
        lower(to_hex(((ip_key >> 64) & 65535::uhugeint)::integer)),
        ':/64'
    )
end

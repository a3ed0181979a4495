-- An address as text, from its number (IPv4 as ::ffff:0:0/96): dotted for IPv4, eight groups for IPv6.
create or replace macro ip_text(ip_key) as
case
    when ip_key is null then null
    when (ip_key >> 32) = 65535::uhugeint
        then concat_ws(
            '.',
            ((ip_key >> 24) & 255::uhugeint)::integer,
            ((ip_key >> 16) & 255::uhugeint)::integer,
            ((ip_key >> 8) & 255::uhugeint)::integer,
            (ip_key & 255::uhugeint)::integer
        )
    else concat_ws(
        ':',
        lower(to_hex(((ip_key >> 112) & 65535::uhugeint)::integer)),
        lower(to_hex(((ip_key >> 96) & 65535::uhugeint)::integer)),
        lower(to_hex(((ip_key >> 80) & 65535::uhugeint)::integer)),
        lower(to_hex(((ip_key >> 64) & 65535::uhugeint)::integer)),
        lower(to_hex(((ip_key >> 48) & 65535::uhugeint)::integer)),
        lower(to_hex(((ip_key >> 32) & 65535::uhugeint)::integer)),
        lower(to_hex(((ip_key >> 16) & 65535::uhugeint)::integer)),
        lower(to_hex((ip_key & 65535::uhugeint)::integer))
    )
end

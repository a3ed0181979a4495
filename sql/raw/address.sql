-- One row per address text that occurs in raw.span or raw.access, read once.
--
-- text         -        as written
-- canonical    -        the address in its shortest form; null if the text is no address
-- key_hi       -        upper 64 bits of the address as a number (IPv4 as ::ffff:0:0/96)
-- key_lo       -        lower 64 bits
-- is_internal  boolean  private, loopback, link-local or shared address space
-- is_trusted   boolean  within --trusted-proxies

create table if not exists raw.address (
    text varchar not null,
    canonical varchar,
    key_hi ubigint,
    key_lo ubigint,
    is_internal boolean,
    is_trusted boolean
)

"""What an address is, however a log wrote it: canonical text, 128-bit key, version, inside or outside."""

import re
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_network

import polars as pl

COLUMNS = {
    "text": pl.String(),
    "canonical": pl.String(),
    "key_hi": pl.UInt64(),
    "key_lo": pl.UInt64(),
    "version": pl.UInt8(),
    "is_internal": pl.Boolean(),
}
# Listed, as ipaddress.is_private would take the ranges kept for documentation for internal ones too.
_INTERNAL = tuple(
    ip_network(network)
    for network in (
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",  # private, RFC 1918
        "100.64.0.0/10",                                  # carrier-grade NAT, RFC 6598
        "127.0.0.0/8", "::1/128",                         # loopback
        "169.254.0.0/16", "fe80::/10",                    # link-local
        "fc00::/7",                                       # unique local, RFC 4193
    )
)  # fmt: skip
_MAPPED = 0xFFFF << 32
_LOW = (1 << 64) - 1
_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = rf"^{_OCTET}\.{_OCTET}\.{_OCTET}\.{_OCTET}(?::[0-9]{{1,5}})?$"
_AROUND = ' \t"'
_BRACKETED = re.compile(r"\[([^\]]+)\](?::[0-9]{1,5})?")
_WITH_PORT = re.compile(r"(.+):[0-9]{1,5}")


def parse(texts: pl.Series) -> pl.DataFrame:
    """Each distinct address text and what it is.

    texts    as logs write them: IPv4 or IPv6, with or without port, brackets, zone id, quotes; junk, nulls
    returns  text; canonical (null where the text is no address), key_hi and key_lo (IPv4 as ::ffff:0:0/96),
             version 4 or 6, is_internal (private, loopback, link-local, CGNAT, ULA); in order of occurrence

    An IPv4-mapped IPv6 address is that IPv4 address. A zone id is dropped. An octet with a leading zero is no
    address: some read it as octal. An IPv6 address with a port and no brackets is read as such only where the
    whole is no address: 2001:db8::1:8080 could be either, and is taken as it stands.
    """
    distinct = texts.drop_nulls().unique(maintain_order=True).alias("text").to_frame()
    octets = distinct.select(pl.col("text").str.strip_chars(_AROUND).str.extract_groups(_IPV4)).unnest("text")
    is_four = octets["1"].is_not_null()
    four = _four(distinct.filter(is_four), octets.filter(is_four))
    six = pl.DataFrame(
        [_six(text) for text in distinct.filter(~is_four)["text"]], schema=COLUMNS, orient="row"
    )
    return distinct.join(pl.concat([four, six]), on="text", how="left", maintain_order="left")


def _four(texts: pl.DataFrame, octets: pl.DataFrame) -> pl.DataFrame:
    """IPv4, column-wise, since it is most of what a log holds."""
    first, second, third, fourth = (pl.col(number).cast(pl.UInt64) for number in octets.columns)
    value = octets.select(first * 2**24 + second * 2**16 + third * 2**8 + fourth).to_series()
    inside = [
        value.is_between(int(network.network_address), int(network.broadcast_address))
        for network in _INTERNAL
        if isinstance(network, IPv4Network)
    ]
    return texts.with_columns(
        canonical=octets.select(pl.concat_str(pl.all(), separator=".")).to_series(),
        key_hi=pl.lit(0, pl.UInt64),
        key_lo=value + _MAPPED,
        version=pl.lit(4, pl.UInt8),
        is_internal=pl.select(pl.any_horizontal(inside)).to_series(),
    )


def _six(text: str) -> tuple[str, str | None, int | None, int | None, int | None, bool | None]:
    address = _address(text.strip(_AROUND))
    if address is None:
        return text, None, None, None, None, None
    key = int(address)
    if address.ipv4_mapped is not None:
        four = address.ipv4_mapped
        is_internal = any(four in network for network in _INTERNAL if isinstance(network, IPv4Network))
        return text, str(four), 0, key & _LOW, 4, is_internal
    is_internal = any(address in network for network in _INTERNAL if isinstance(network, IPv6Network))
    return text, str(address), key >> 64, key & _LOW, 6, is_internal


def _address(text: str) -> IPv6Address | None:
    if match := _BRACKETED.fullmatch(text):
        return _plain(match[1])
    found = _plain(text)
    if found is None and (match := _WITH_PORT.fullmatch(text)):
        return _plain(match[1])
    return found


def _plain(text: str) -> IPv6Address | None:
    try:
        return IPv6Address(text.partition("%")[0])
    except ValueError:
        return None

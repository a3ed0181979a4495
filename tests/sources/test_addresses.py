"""An address is one address however it is written, and junk is none."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracemortem.sources.addresses import COLUMNS, parse


def canonical(text: str) -> str | None:
    return parse(pl.Series([text]))["canonical"][0]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("203.0.113.9:47402", "203.0.113.9"),
        ("203.0.113.9:0", "203.0.113.9"),
        (" 203.0.113.9 ", "203.0.113.9"),
        ("2001:DB8:0:0::07", "2001:db8::7"),
        ("[2001:db8::7]", "2001:db8::7"),
        ('"[2001:db8::7]:4711"', "2001:db8::7"),
        ("2001:db8:1:2:3:4:5:6:50599", "2001:db8:1:2:3:4:5:6"),
        ("2001:db8::1:8080", "2001:db8::1:8080"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("fe80::1%eth0", "fe80::1"),
        ("256.0.0.1", None),
        ("010.0.0.1", None),
        ("1.2.3", None),
        ("1.2.3.4.5", None),
        ("[::1", None),
        ("unknown", None),
        ("_hidden", None),
        ("unix:", None),
        ("gate.example.org:80", None),
        ("-", None),
        ("", None),
        ("١.2.3.4", None),
    ],
)
def test_an_address_is_read_however_it_is_written(text: str, address: str | None):
    assert canonical(text) == address


@pytest.mark.parametrize(
    ("text", "is_internal"),
    [
        ("10.255.255.255", True),
        ("11.0.0.0", False),
        ("172.15.255.255", False),
        ("172.16.0.0", True),
        ("192.168.0.1", True),
        ("100.64.0.0", True),
        ("100.127.255.255", True),
        ("100.128.0.0", False),
        ("127.0.0.1", True),
        ("169.254.169.254", True),
        ("203.0.113.9", False),
        ("::1", True),
        ("fe80::1", True),
        ("fd00::1", True),
        ("2001:db8::1", False),
        ("::ffff:10.0.0.1", True),
        ("junk", None),
    ],
)
def test_internal_is_private_loopback_link_local_cgnat_and_unique_local(text: str, is_internal: bool | None):
    assert parse(pl.Series([text]))["is_internal"].to_list() == [is_internal]


def test_each_distinct_text_is_one_row_in_order_of_occurrence():
    found = parse(pl.Series(["b", "10.0.0.1", None, "b", "10.0.0.1:80"]))
    assert found.schema == COLUMNS
    assert found.select("text", "key_hi", "key_lo", "version").rows() == [
        ("b", None, None, None),
        ("10.0.0.1", 0, 0xFFFF0A000001, 4),
        ("10.0.0.1:80", 0, 0xFFFF0A000001, 4),
    ]


def test_no_address_at_all_is_no_row():
    assert parse(pl.Series([], dtype=pl.String)).rows() == []


@given(st.lists(st.ip_addresses(), min_size=1, max_size=20))
@settings(deadline=None, max_examples=50)
def test_the_key_is_the_address_as_a_number_of_128_bits(addresses: list[IPv4Address | IPv6Address]):
    found = parse(pl.Series([str(address) for address in addresses]))
    for text, hi, lo in found.select("text", "key_hi", "key_lo").iter_rows():
        address = ip_address(text)
        four = address if isinstance(address, IPv4Address) else address.ipv4_mapped
        assert (hi << 64) + lo == (int(four) + (0xFFFF << 32) if four is not None else int(address))

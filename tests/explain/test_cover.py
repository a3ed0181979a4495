"""Which prefixes hold the guilty and spare the innocent."""

from ipaddress import IPv4Address, IPv4Network, IPv6Network

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracemortem.explain.cover import cover

Clients = dict[int, tuple[float, float]]


def covered(clients: Clients, per_prefix: float, bits: int = 32) -> list[tuple[int, int]]:
    keys = sorted(clients)
    gain, loss = (np.array([clients[key][at] for key in keys]) for at in (0, 1))
    return cover(np.array(keys, np.uint64), bits, gain, loss, per_prefix)


def hosts(network: str, number: int, weights: tuple[float, float], seed: int = 1) -> Clients:
    within = IPv4Network(network)
    chosen = np.random.default_rng(seed).choice(within.num_addresses, number, replace=False)
    return {int(within.network_address) + int(host): weights for host in chosen}


def texts(found: list[tuple[int, int]]) -> list[str]:
    return [str(IPv4Network(prefix)) for prefix in found]


def innocent(number: int, seed: int = 7) -> Clients:
    addresses = np.random.default_rng(seed).integers(1 << 24, 223 << 24, number)
    return {int(address): (0.5, 10.0) for address in addresses}


@pytest.mark.parametrize(
    "network", ["203.0.113.0/24", "203.0.112.0/22", "203.0.113.64/26", "203.0.113.16/28"]
)
def test_a_range_of_guilty_clients_is_found_as_it_is(network: str):
    few = min(40, IPv4Network(network).num_addresses * 3 // 4)
    assert texts(covered(innocent(3000) | hosts(network, few, (40.0, 2.0)), 12.0)) == [network]


def test_a_guilty_client_alone_is_a_prefix_of_its_own():
    alone = int(IPv4Address("192.0.2.7"))
    assert covered(innocent(500) | {alone: (900.0, 0.0)}, 9.0) == [(alone, 32)]


def test_the_space_between_two_ranges_belongs_to_neither():
    both = hosts("10.1.0.0/24", 40, (40.0, 0.0)) | hosts("10.1.7.0/24", 40, (40.0, 0.0))
    assert texts(covered(both, 32.0)) == ["10.1.0.0/24", "10.1.7.0/24"]


def test_a_range_is_cut_where_innocent_clients_lie_in_it():
    clients = hosts("10.1.0.0/25", 40, (40.0, 0.0)) | hosts("10.1.0.128/25", 40, (0.0, 50.0))
    assert texts(covered(clients, 16.0)) == ["10.1.0.0/25"]


def test_guilt_below_the_price_of_a_prefix_is_left_out():
    assert covered({1: (10.0, 0.0), 2: (0.0, 5.0)}, 10.0) == []


def test_no_clients_need_no_prefix():
    assert covered({}, 1.0) == []


def test_networks_of_ipv6_are_covered_by_their_first_64_bits():
    first = int(IPv6Network("2001:db8:2a::/48").network_address) >> 64
    chosen = np.random.default_rng(3).choice(1 << 16, 50, replace=False)
    clients = {first + int(at): (40.0, 0.0) for at in chosen} | {first + (1 << 20): (0.0, 30.0)}
    found = covered(clients, 20.0, bits=64)
    assert [IPv6Network((key << 64, length)) for key, length in found] == [IPv6Network("2001:db8:2a::/48")]


@given(
    st.dictionaries(
        st.integers(0, 255), st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=24
    ),
    st.integers(1, 30),
)
@settings(max_examples=200, deadline=None)
def test_prefixes_are_apart_and_cost_no_more_than_taking_each_guilty_client_or_none(clients, per_prefix: int):
    found = covered({key: (float(g), float(n)) for key, (g, n) in clients.items()}, float(per_prefix), bits=8)
    inside = [(key, sum(key >> (8 - n) == p >> (8 - n) for p, n in found)) for key in clients]
    assert all(times <= 1 for _, times in inside)
    cost = per_prefix * len(found) + sum(
        clients[key][1] if times else clients[key][0] for key, times in inside
    )
    singly = sum(min(gain, per_prefix + loss) for gain, loss in clients.values())
    assert cost <= min(singly, sum(gain for gain, _ in clients.values()))

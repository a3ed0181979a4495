"""Culprits, victims, and when ranges mean nothing."""

import polars as pl

from tracemortem.explain.ranges import sources
from tracemortem.incident import Cause

SETTINGS = {"culprit_share": 0.03, "culprit_sigmas": 5.0, "culprit_lift": 2.0, "void_share": 0.9}
SURGE = (Cause("long_context_surge", "primary", "established", "", ()),)


def network(net: str, requests: int, long: int, expected: float = 0.0, slow: int = 0) -> dict[str, object]:
    return {
        "client_net": net, "requests": requests, "requests_expected": float(requests),
        "long_requests": long, "long_expected": expected, "heavy_outputs": 0, "heavy_expected": 0.0,
        "prompt_tokens": 1000 * requests, "output_tokens": 10 * requests, "slow_requests": slow, "clients": 3,
    }  # fmt: skip


def test_networks_that_sent_more_than_their_rate_explains_are_culprits():
    frame = pl.DataFrame(
        [
            network("203.0.113.0/24", 900, 850),
            network("192.0.2.0/24", 500, 25, 24.0),
            network("198.51.100.0/24", 400, 390),
        ]
    )
    found = sources(frame, SURGE, SETTINGS)
    assert [(s.cidr, s.role) for s in found] == [
        ("203.0.113.0/24", "culprit"),
        ("198.51.100.0/24", "culprit"),
    ]


def test_a_culprit_states_its_share_and_the_innocent_requests_within():
    frame = pl.DataFrame([network("203.0.113.0/24", 100, 75), network("192.0.2.0/24", 500, 25, 25.0)])
    culprit = sources(frame, SURGE, SETTINGS)[0]
    assert (culprit.share_of_excess, culprit.collateral, culprit.tokens) == (1.0, 0.25, 100_000)


def test_chance_is_no_culprit():
    frame = pl.DataFrame([network(f"10.0.{n}.0/24", 100, 6, 5.0) for n in range(5)])
    assert sources(frame, SURGE, SETTINGS) == ()


def test_slow_requests_of_others_make_victims():
    frame = pl.DataFrame(
        [network("203.0.113.0/24", 900, 850, slow=100), network("192.0.2.0/24", 500, 25, 24.0, 40)]
    )
    assert [(s.cidr, s.role) for s in sources(frame, SURGE, SETTINGS)] == [
        ("203.0.113.0/24", "culprit"),
        ("192.0.2.0/24", "victim"),
    ]


def test_nothing_is_said_of_ranges_where_one_network_hides_all_clients():
    frame = pl.DataFrame([network("203.0.113.0/24", 950, 850), network("192.0.2.0/24", 50, 2)])
    assert sources(frame, SURGE, SETTINGS) == ()


def test_a_cause_that_nobody_sent_has_no_culprits():
    throttle = (Cause("gpu_throttle", "primary", "established", "", ()),)
    frame = pl.DataFrame([network("203.0.113.0/24", 500, 450), network("192.0.2.0/24", 500, 25)])
    assert sources(frame, throttle, SETTINGS) == ()


def test_a_surge_of_everybody_has_no_culprits():
    surge = (Cause("traffic_surge", "primary", "established", "", ()),)
    frame = pl.DataFrame(
        [network(f"10.0.{n}.0/24", 3000, 0) | {"requests_expected": 1000.0} for n in range(6)]
    )
    assert [source for source in sources(frame, surge, SETTINGS) if source.role == "culprit"] == []


def test_a_range_is_written_in_its_shortest_form():
    frame = pl.DataFrame([network("2001:db8:2a:0::/64", 900, 850), network("192.0.2.0/24", 500, 25, 24.0)])
    assert sources(frame, SURGE, SETTINGS)[0].cidr == "2001:db8:2a::/64"

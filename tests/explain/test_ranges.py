"""Culprits, victims, and when ranges mean nothing."""

from ipaddress import ip_network

import polars as pl

from tracemortem.explain.chance import adjusted
from tracemortem.explain.ranges import ranges, sources
from tracemortem.incident import Cause, Source

SETTINGS = {
    "culprit_share": 0.03,
    "culprit_sigmas": 5.0,
    "culprit_lift": 2.0,
    "culprit_rise": 1.3,
    "void_share": 0.9,
    "false_discovery_rate": 0.05,
}
SURGE = (Cause("long_context_surge", "primary", "established", "", ()),)


def network(
    net: str, requests: int, long: int, expected: float = 0.0, slow: int = 0, usual: float | None = None
) -> list[dict[str, object]]:
    """Clients spread over a network, and what they sent in all."""
    within = ip_network(net)
    is_ipv4, number = within.version == 4, 16
    step = within.num_addresses // number if is_ipv4 else 1
    first = int(within.network_address) if is_ipv4 else int(within.network_address) >> 64
    return [
        {
            "client_net": str(ip_network((first + at * step, 24), strict=False)) if is_ipv4 else net,
            "is_ipv4": is_ipv4,
            "client_bits": first + at * step,
            "requests": requests // number + (at < requests % number),
            "requests_expected": (float(requests) if usual is None else usual) / number,
            "long_requests": long // number + (at < long % number),
            "long_expected": expected / number,
            "heavy_outputs": 0,
            "heavy_expected": 0.0,
            "prompt_tokens": (1000 * requests + 7000 * long) // number,
            "long_tokens": 8000 * long // number,
            "output_tokens": 10 * requests // number,
            "heavy_tokens": 0,
            "slow_requests": slow // number,
        }
        for at in range(number if is_ipv4 else 1)
    ]


def clients(*networks: list[dict[str, object]]) -> pl.DataFrame:
    rows = [row for network in networks for row in network]
    return pl.DataFrame(rows, schema_overrides={"client_bits": pl.UInt64})


def named(
    frame: pl.DataFrame, causes: tuple[Cause, ...], settings: dict[str, float], beside: int = 0
) -> tuple[Source, ...]:
    """Culprits and victims, where so many other things were looked at and none found."""
    found = ranges(frame)
    return sources(found, adjusted([*found.p_values, *[1.0] * beside]), causes, settings, 30.0)


def culprits(frame: pl.DataFrame, causes: tuple[Cause, ...] = SURGE) -> list[str]:
    return [source.cidr for source in named(frame, causes, SETTINGS) if source.role == "culprit"]


def test_ranges_that_sent_more_than_their_rate_explains_are_culprits():
    frame = clients(
        network("203.0.113.0/24", 960, 850),
        network("192.0.2.0/24", 512, 32, 24.0),
        network("198.51.100.0/24", 400, 390),
    )
    assert culprits(frame) == ["203.0.113.0/24", "198.51.100.0/24"]


def test_a_culprit_states_its_share_and_the_innocent_requests_within():
    frame = clients(network("203.0.113.0/24", 160, 120, usual=90.0), network("192.0.2.0/24", 512, 32, 32.0))
    culprit, *victims = named(frame, SURGE, SETTINGS)
    assert culprit.usual_per_minute == 3.0  # over 30 minutes
    assert [one.usual_per_minute for one in victims if one.role == "victim"] == [None] * len(victims)
    assert (culprit.share_of_excess, culprit.collateral, culprit.tokens) == (1.0, 0.25, 1_000_000)


def test_a_range_is_as_small_as_its_guilty_clients_allow():
    frame = clients(
        network("203.0.113.32/28", 960, 850),
        network("203.0.113.128/25", 960, 0),
        network("192.0.2.0/24", 512, 0),
    )
    assert culprits(frame) == ["203.0.113.32/28"]


def test_neighbouring_guilty_networks_are_one_range():
    halves = (network("203.0.112.0/24", 480, 425), network("203.0.113.0/24", 480, 425))
    assert culprits(clients(*halves, network("192.0.2.0/24", 512, 0))) == ["203.0.112.0/23"]


def test_chance_is_no_culprit():
    assert culprits(clients(*(network(f"10.0.{n}.0/24", 320, 18, 16.0) for n in range(5)))) == []


def test_clients_that_changed_their_address_within_their_network_are_no_culprits():
    retry = (Cause("retry_storm", "primary", "established", "", ()),)
    steady = [network(f"10.0.{n}.0/24", 960, 0) for n in range(4)]
    gone = [row | {"requests": 0} for row in network("172.16.0.0/25", 960, 0)]
    new = [row | {"client_net": "172.16.0.0/24"} for row in network("172.16.0.128/25", 960, 0, usual=0.0)]
    assert culprits(clients(*steady, gone, new), retry) == []


def test_slow_requests_of_others_make_victims():
    frame = clients(network("203.0.113.0/24", 960, 850, slow=96), network("192.0.2.0/24", 512, 32, 24.0, 48))
    assert [(s.cidr, s.role) for s in named(frame, SURGE, SETTINGS)] == [
        ("203.0.113.0/24", "culprit"),
        ("192.0.2.0/24", "victim"),
    ]


def test_a_range_that_chance_explains_among_all_that_was_looked_at_is_no_culprit():
    many = (Cause("retry_storm", "primary", "established", "", ()),)
    quiet = (network(f"10.0.{at}.0/24", 32, 0, usual=32.0) for at in range(4))
    frame = clients(network("203.0.113.0/24", 24, 0, usual=8.0), *quiet)
    [found] = [one for one in named(frame, many, SETTINGS) if one.role == "culprit"]
    assert (found.cidr, found.q is not None and found.q < 0.05) == ("203.0.113.0/25", True)
    assert named(frame, many, SETTINGS, beside=10_000_000) == ()


def test_nothing_is_said_of_ranges_where_one_network_hides_all_clients():
    frame = clients(network("203.0.113.0/24", 960, 850), network("192.0.2.0/24", 48, 0))
    assert named(frame, SURGE, SETTINGS) == ()


def test_a_cause_that_nobody_sent_has_no_culprits():
    throttle = (Cause("gpu_throttle", "primary", "established", "", ()),)
    frame = clients(network("203.0.113.0/24", 512, 450), network("192.0.2.0/24", 512, 32))
    assert named(frame, throttle, SETTINGS) == ()


def test_a_surge_of_everybody_has_no_culprits():
    surge = (Cause("traffic_surge", "primary", "established", "", ()),)
    frame = clients(*(network(f"10.0.{n}.0/24", 3200, 0, usual=1000.0) for n in range(6)))
    assert culprits(frame, surge) == []


def test_without_a_time_before_nobody_is_blamed():
    frame = clients(network("203.0.113.0/24", 960, 850), network("192.0.2.0/24", 512, 32)).with_columns(
        requests_expected=pl.lit(None, pl.Float64), long_expected=pl.lit(None, pl.Float64)
    )
    assert culprits(frame) == []


def test_a_range_of_ipv6_is_written_in_its_shortest_form():
    frame = clients(network("2001:db8:2a:0::/64", 960, 850), network("192.0.2.0/24", 512, 32, 24.0))
    assert culprits(frame) == ["2001:db8:2a::/64"]


UNEXPLAINED = (Cause("unknown", "primary", "possible", "", ()),)


def test_nobody_is_to_blame_for_an_unexplained_spike_where_the_requests_of_all_hardly_rose():
    frame = clients(network("203.0.113.0/24", 250, 0, usual=50.0), network("192.0.2.0/24", 1000, 0))
    assert culprits(frame, UNEXPLAINED) == []


def test_who_raised_the_requests_of_all_is_named_also_where_the_spike_is_unexplained():
    frame = clients(network("203.0.113.0/24", 550, 0, usual=50.0), network("192.0.2.0/24", 1000, 0))
    assert culprits(frame, UNEXPLAINED) == ["203.0.113.0/24"]

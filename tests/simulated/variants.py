"""How another shop may differ from those that are drawn: in its fleet, its clients, and what it records."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from simulated.faults import back, killed, speed
from simulated.fleet import Trouble
from simulated.parts import Part
from simulated.shop import Shop, draw_network

Change = Callable[[Shop, Random], Shop]


@dataclass(frozen=True)
class Variant:
    """One difference.

    change      the shop made another one
    replicas    from and to; per_s: requests a second, from and to; None: as the kind asks
    begins      minutes from the start of the recording to the trouble, from and to; None: as drawn
    is_open     the trouble is still going on when the recording ends
    is_restart  one engine dies in the middle of it and is back in seconds, its counters at zero
    slowness    while the trouble lasts, all steps of one engine or of all of them last so many times as long
    """

    change: Change = lambda shop, _rng: shop
    replicas: tuple[int, int] | None = None
    per_s: tuple[float, float] = (0.8, 1.8)
    begins: tuple[float, float] | None = None
    is_open: bool = False
    is_restart: bool = False
    slowness: float = 1.0


def _ipv6(shop: Shop, rng: Random) -> Shop:
    def moved(length: int) -> tuple[str, int]:
        return draw_network(rng, length if length > 32 else 64)

    tenants = tuple(
        replace(one, networks=tuple(moved(length) for _, length in one.networks)) for one in shop.tenants
    )
    return replace(shop, tenants=tenants)


def _with(**fields: object) -> Change:
    return lambda shop, _rng: replace(shop, **fields)  # type: ignore[arg-type]


def _additive(shop: Shop, _rng: Random) -> Shop:
    """A step takes the sum of computing and reading memory, not the longer of both."""
    return replace(shop, hardware=replace(shop.hardware, overlap=1.0))


def _unlike(shop: Shop, _rng: Random) -> Shop:
    """All at once what a replay of recorded requests does not know: see ARCHITECTURE.md, "Replay"."""
    hardware = replace(shop.hardware, noise=0.1, stall_ratio=0.003)
    return replace(shop, is_closed_loop=True, balancing="hash_session", scrape_jitter=0.25, hardware=hardware)


VARIANTS = {
    "": Variant(),
    "sglang": Variant(_with(metric_names="sglang")),
    "tgi": Variant(_with(metric_names="tgi")),
    "slow_scrapes": Variant(_with(scrape_s=60)),
    "jitter": Variant(_with(scrape_jitter=0.25)),
    "one_replica": Variant(replicas=(1, 1)),
    "eight_replicas": Variant(replicas=(8, 8), per_s=(2.5, 4.0)),
    "busy": Variant(per_s=(3.0, 5.0)),
    "short_baseline": Variant(begins=(16.0, 22.0)),
    "open_ended": Variant(is_open=True),
    "no_gateway_spans": Variant(_with(has_gateway_spans=False)),
    "no_access_log": Variant(_with(has_access_log=False)),
    "nat": Variant(_with(hides_clients=True)),
    "ipv6": Variant(_ipv6),
    "no_dram": Variant(_with(has_dram=False)),
    "restart": Variant(is_restart=True),
    "decoy_deploys": Variant(_with(has_events=True, has_decoy=True)),
    "closed_loop": Variant(_with(is_closed_loop=True)),
    "sticky": Variant(_with(balancing="hash_session")),
    "additive_steps": Variant(_additive),
    "short_prompts": Variant(_with(lengths=0.1)),
    "long_prompts": Variant(_with(lengths=1.5)),
    "unlike": Variant(_unlike),
    "unlike_slow": Variant(_unlike, slowness=1.15),
}


def slowed(shop: Shop, rng: Random, a: float, b: float, times: float) -> Part:
    """A red herring too: engines that are slower from a to b, one or all of them; times 1: as they were."""
    places = range(len(shop.nodes)) if rng.random() < 0.5 else (rng.randrange(len(shop.nodes)),)
    actions = [(at, speed(place, factor)) for place in places for at, factor in ((a, times), (b, 1 / times))]
    return Part(kind="", trouble=Trouble(actions=actions if times != 1 else []))


def restart(shop: Shop, at: float, is_there: bool) -> Part:
    """A red herring: the first engine dies and is back in six seconds under its name; or nothing."""
    actions = [(at, killed(0)), (at + 6, back(0, None))] if is_there else []
    return Part(kind="", trouble=Trouble(actions=actions))

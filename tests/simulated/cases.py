"""A case by kind and seed: a shop, what goes wrong in it and when, run with and without, and labelled."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from zlib import crc32

import numpy as np

from simulated import faults, loads
from simulated.fleet import Fleet
from simulated.parts import Part, joined
from simulated.shop import Node, Shop, draw_shop, draw_tenant
from simulated.traffic import Ask, usual
from simulated.truth import Effect, effect, is_calm_before, measured
from simulated.variants import VARIANTS, Variant, restart, slowed

Builder = Callable[[Shop, Random, float, float, float], Part]
SINGLE: dict[str, Builder] = {
    builder.__name__: builder
    for builder in (
        loads.long_context_surge,
        loads.cache_pollution,
        loads.traffic_surge,
        loads.retry_storm,
        loads.output_length_surge,
        loads.mix_shift,
        faults.gpu_throttle,
        faults.straggler_replica,
        faults.memory_bandwidth_saturation,
        faults.kv_preemption_thrash,
        faults.prefix_cache_disabled,
        faults.rollout_cold_cache,
        faults.replica_loss,
        faults.gpu_fault,
        faults.upstream_network,
        faults.cpu_or_tokenizer_bottleneck,
        faults.clock_skew_artifact,
    )
}
# Mild parts, so that it takes both.
PAIRS = (
    ("traffic_surge", "prefix_cache_disabled"),
    ("long_context_surge", "replica_loss"),
    ("output_length_surge", "gpu_throttle"),
    ("traffic_surge", "gpu_throttle"),
    ("long_context_surge", "upstream_network"),
    ("traffic_surge", "cpu_or_tokenizer_bottleneck"),
)
# What looks guilty and is not beside what is: documents asked for again and again, a GPU that gets warm.
CONFOUNDED = (
    ("gpu_throttle", "long_context_surge"),
    ("upstream_network", "long_context_surge"),
    ("long_context_surge", "gpu_throttle"),
    ("traffic_surge", "gpu_throttle"),
)
GROWING = ("traffic_surge", "long_context_surge", "output_length_surge")
SPARSE = ("gpu_throttle", "upstream_network", "prefix_cache_disabled", "output_length_surge")
KINDS = (*SINGLE, "quiet", "confounded", "two_causes", "partial", "ramp", "low_volume")
# Where a fault is felt only if the fleet is small or busy.
_REPLICAS = {"gpu_fault": (2, 3), "replica_loss": (2, 3), "retry_storm": (2, 3), "cache_pollution": (2, 3)}
_LOAD = {
    "gpu_fault": (0.35, 0.5),
    "replica_loss": (0.35, 0.5),
    "retry_storm": (0.3, 0.4),
    "traffic_surge": (0.25, 0.4),
    "cache_pollution": (0.25, 0.35),
    "rollout_cold_cache": (0.3, 0.45),
    "prefix_cache_disabled": (0.15, 0.3),
    "two_causes": (0.2, 0.3),
    "ramp": (0.25, 0.4),
}
_GROWS = (
    "gpu_fault", "replica_loss", "cache_pollution", "rollout_cold_cache", "prefix_cache_disabled",
)  # fmt: skip
STRENGTHS = (1.0, 1.5, 2.2, 3.2, 4.5, 6.5)
NEEDED, HELPED = 0.3, 0.12  # share of the rise of P99 that goes if a part is undone


class UnfeltError(Exception):
    """No strength tried made an incident of it."""


@dataclass(frozen=True)
class Case:
    """A case and what is true of it.

    primary    needed causes; none: no incident
    accepted   what may stand for them, or be primary beside them
    plausible  what may be named besides, as contributing
    again      the same draw with some parts only or others besides, and in another shop
    """

    kind: str
    seed: int
    shop: Shop
    parts: tuple[Part, ...]
    start_s: float
    end_s: float
    fleet: Fleet
    effect: Effect
    primary: tuple[str, ...]
    accepted: tuple[str, ...]
    again: "Again"

    @property
    def plausible(self) -> frozenset[str]:
        """Causes that may be named besides: what the parts bring with them."""
        return frozenset(name for part in self.parts for name in (*part.plausible, *part.accepted))

    @property
    def culprits(self) -> tuple[str, ...]:
        """Ranges from which the needed trouble came."""
        return tuple(net for part in self.parts if part.kind in self.primary for net in part.culprits)

    def clock_jump_s(self, node: Node, at: float) -> float:
        """By how much a machine's clock is wrong then, beyond its usual offset."""
        if not self.start_s <= at < self.end_s:
            return 0.0
        jumps = (jump for part in self.parts for jump in part.clock_jumps)
        return sum(seconds for place, seconds in jumps if self.shop.nodes[place].host == node.host)


def draw(kind: str, seed: int, variant: str = "") -> Case:
    """The case of that kind and seed; raises UnfeltError if nothing was felt at any strength."""
    other = VARIANTS[variant]
    for strength in STRENGTHS:
        rng = Random(crc32(f"{kind}/{seed}".encode()))
        low, high = _LOAD.get(kind, (0.12, 0.3))
        busier = strength**0.4 if kind in _GROWS else 1.0  # a fault that is as it is needs a busier fleet
        replicas = other.replicas or _REPLICAS.get(kind, (2, 5))
        shop = draw_shop(rng, replicas=replicas, load=(low * busier, high * busier), per_s=other.per_s)
        shop = other.change(_suited(kind, rng, shop), Random(seed))
        asks = usual(shop, Random(rng.random()))
        start_s, end_s = _when(shop, rng, other)
        beside = (
            restart(shop, (start_s + min(end_s, 60.0 * shop.minutes)) / 2, other.is_restart),
            slowed(shop, Random(seed), start_s, end_s, other.slowness),
        )
        seeded = rng.randrange(1 << 30)
        if kind in {"quiet", "clock_skew_artifact"}:
            parts = _parts(kind, shop, rng, start_s, end_s, strength)
            run = Again(shop, seeded, asks, beside)
            return Case(kind, seed, shop, parts, start_s, end_s, run(parts), Effect(None, 0, 0), (), (), run)
        without = Again(shop, seeded, asks, beside)(())
        if kind == "retry_storm":  # people give up when it takes some times as long as it ever does
            usual_s = float(np.quantile(measured(without)[1], 0.995))
            shop = replace(shop, client_timeout_s=max(3.0, rng.uniform(2, 3) * usual_s))
        parts = _parts(kind, shop, rng, start_s, end_s, strength)
        run = Again(shop, seeded, asks, beside)
        whole = run(parts)
        found = effect(shop, whole, without, start_s)
        is_case = found.window is not None and is_calm_before(shop, whole, without, start_s)
        labelled = _label(kind, parts, run, found) if is_case else None
        if labelled is not None:
            return Case(kind, seed, shop, parts, start_s, end_s, whole, found, *labelled, run)
    raise UnfeltError(f"{kind} {seed} is not felt")


@dataclass(frozen=True)
class Again:
    """A draw that can be run again."""

    shop: Shop
    seed: int
    asks: list[Ask]
    beside: tuple[Part, ...]

    def __call__(self, parts: tuple[Part, ...], shop: Shop | None = None) -> Fleet:
        """The same requests and random numbers; shop: None is that of the draw."""
        return Fleet(shop or self.shop, joined((*parts, *self.beside)), self.seed).run(self.asks)


def _label(
    kind: str, parts: tuple[Part, ...], run: Callable[[tuple[Part, ...]], Fleet], found: Effect
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """What was needed, and what may be named beside it; None if the case is not of its kind after all."""
    if len(parts) == 1:
        return (parts[0].kind,), (parts[0].kind, *parts[0].accepted)
    gone = {part: found.share_gone(run(tuple(one for one in parts if one is not part))) for part in parts}
    primary = tuple(part.kind for part in parts if gone[part] >= NEEDED)
    if "" in primary or len(primary) != (2 if kind == "two_causes" else 1):
        return None
    return primary, tuple(part.kind for part in parts if gone[part] >= HELPED and part.kind)


def _parts(kind: str, shop: Shop, rng: Random, a: float, b: float, strength: float) -> tuple[Part, ...]:
    if kind == "quiet":
        return ()
    if kind == "confounded":
        true, red_herring = rng.choice(CONFOUNDED)
        needed, early = SINGLE[true](shop, rng, a, b, 1.3 * strength), a - rng.uniform(-120, 240)
        if red_herring == "gpu_throttle":
            return needed, faults.warm_gpu(shop, rng, early, b)
        return needed, loads.long_context_surge(shop, rng, early, b, 1.0, harmless=True)
    if kind == "two_causes":
        first, second = rng.choice(PAIRS)
        late = a + rng.uniform(-60, 120)
        return (
            SINGLE[first](shop, rng, a, b, 0.6 * strength),
            SINGLE[second](shop, rng, late, b, 0.6 * strength),
        )
    if kind == "partial":
        one = faults.upstream_network(shop, rng, a, b, 1.5 * strength, share=0.08)
    elif kind == "ramp":
        growing = SINGLE[rng.choice(GROWING)](shop, rng, a, b, 1.3 * strength)
        one = loads.ramped(growing, a, rng.uniform(10, 20) * 60)
    elif kind == "low_volume":
        one = SINGLE[rng.choice(SPARSE)](shop, rng, a, b, 1.5 * strength)
    else:
        one = SINGLE[kind](shop, rng, a, b, strength)
    return (one,)


def _when(shop: Shop, rng: Random, variant: Variant) -> tuple[float, float]:
    """Start and end of the trouble; in one recording of eight it is still going on at the end."""
    start_s = rng.uniform(32, 45) * 60
    end_s = start_s + rng.uniform(18, min(45, shop.minutes - 12 - start_s / 60)) * 60
    if variant.begins:
        begun_s, start_s = start_s, rng.uniform(*variant.begins) * 60
        end_s += start_s - begun_s
    if rng.random() < 0.125 or variant.is_open:
        end_s = 60.0 * shop.minutes + 600
    return start_s, end_s


def _suited(kind: str, rng: Random, shop: Shop) -> Shop:
    """The shop, so that the kind can happen in it."""
    if kind == "retry_storm":  # somebody's patience ends before the engines' queue does
        return replace(shop, hardware=replace(shop.hardware, max_sequences=rng.choice((24, 32))))
    if kind == "low_volume":
        return replace(shop, per_s=rng.uniform(0.15, 0.35) * shop.per_s)
    if kind == "mix_shift":
        # so few reports that usually P99 is not theirs, and so many requests that it shows
        reports = replace(
            draw_tenant(rng, "rag", "reports"),
            output_tokens=rng.randint(350, 700),
            weight=0.004 * sum(one.weight for one in shop.tenants),
        )
        hardware = replace(shop.hardware, token_s=shop.hardware.token_s / 3)
        return replace(shop, tenants=(*shop.tenants, reports), per_s=3 * shop.per_s, hardware=hardware)
    if kind in {"kv_preemption_thrash", "memory_bandwidth_saturation"}:  # many requests decode at once
        tenants = tuple(
            replace(one, output_tokens=one.output_tokens * rng.randint(3, 5)) for one in shop.tenants
        )
        tokens = rng.randint(40_000, 60_000) if kind == "kv_preemption_thrash" else shop.hardware.kv_tokens
        return replace(shop, tenants=tenants, hardware=replace(shop.hardware, kv_tokens=tokens))
    return shop

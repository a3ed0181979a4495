"""Kinds of trouble that come with the fleet. Each: (shop, rng, from, to, strength) -> Part; seconds."""

import math
from collections.abc import Callable
from random import Random

from simulated.fleet import Fleet, Trouble
from simulated.parts import Part, chance
from simulated.shop import Shop
from simulated.traffic import Ask

Action = tuple[float, Callable[[Fleet], None]]


def gpu_throttle(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """GPU clocks fall on some machines, by heat or by a power cap, at once or over some minutes."""
    places = _some(shop, rng)
    depth = max(0.25, 1 - rng.uniform(0.25, 0.5) * strength**0.5)
    is_heat, ramp_s = rng.random() < 0.6, rng.choice((0.0, 120.0, 300.0))
    bits = rng.choice((0x20, 0x40, 0x60)) if is_heat else rng.choice((0x4, 0x80))
    card = rng.randrange(shop.gpus) if rng.random() < 0.5 else None  # one GPU alone slows all of its replica

    def set_to(factor: float) -> Callable[[Fleet], None]:
        def action(fleet: Fleet) -> None:
            for place in places:
                fleet.replicas[place].speed /= factor
                for number, gpu in enumerate(fleet.gpus[place]):
                    if card is None or number == card:
                        gpu.clock_mhz = round(gpu.clock_mhz * factor)
                        gpu.throttle = bits if factor < 1 else 0
                        gpu.temperature_c += (18 if factor < 1 else -18) if is_heat else 0

        return action

    steps = 1 if ramp_s == 0 else 3
    actions: list[Action] = [(a + ramp_s * n / steps, set_to(depth ** (1 / steps))) for n in range(steps)]
    return Part(
        kind="gpu_throttle",
        trouble=Trouble(actions=[*actions, (b, set_to(1 / depth))]),
        affected=places,
        plausible=("straggler_replica", "memory_bandwidth_saturation"),
        events=((b, "mitigation", "cooling restored in one row" if is_heat else "power cap lifted"),),
    )


def warm_gpu(shop: Shop, rng: Random, a: float, b: float) -> Part:
    """A red herring: some GPUs get warmer, or touch their power cap now and then, and keep their clocks."""
    places, is_heat = _some(shop, rng), rng.random() < 0.6

    def set_to(degrees: float, bits: int) -> Callable[[Fleet], None]:
        def action(fleet: Fleet) -> None:
            for gpu in (gpu for place in places for gpu in fleet.gpus[place]):
                gpu.temperature_c += degrees
                gpu.throttle = bits

        return action

    warm = set_to(12, 0) if is_heat else set_to(0, 0x4)
    return Part(kind="", trouble=Trouble(actions=[(a, warm), (b, set_to(-12 if is_heat else 0, 0))]))


def straggler_replica(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """One replica is slower than its peers, its GPU healthy."""
    place, times = rng.randrange(len(shop.nodes)), 1 + rng.uniform(0.6, 1.5) * strength
    return Part(
        kind="straggler_replica",
        trouble=Trouble(actions=[(a, speed(place, times)), (b, speed(place, 1 / times))]),
        affected=(place,),
        events=((b, "mitigation", "one node cordoned"),),
    )


def memory_bandwidth_saturation(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """Each step reads more KV memory for the same context: a wider KV type or another attention kernel."""
    times = rng.uniform(10, 25) * strength

    def set_to(factor: float) -> Callable[[Fleet], None]:
        def action(fleet: Fleet) -> None:
            for one in fleet.replicas:
                one.context_factor *= factor

        return action

    return Part(
        kind="memory_bandwidth_saturation",
        trouble=Trouble(actions=[(a, set_to(times)), (b, set_to(1 / times))]),
        events=(
            (a, "deploy", "inference engine: attention backend changed"),
            (b, "rollback", "attention backend as before"),
        ),
    )


def kv_preemption_thrash(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """Less memory for KV blocks than before: another process took it, or the setting was lowered."""
    share = rng.uniform(0.3, 0.45) / strength**0.7

    def set_to(factor: float) -> Callable[[Fleet], None]:
        def action(fleet: Fleet) -> None:
            for one in fleet.replicas:
                one.room = round(shop.lengths * max(9000, shop.hardware.kv_tokens * factor))

        return action

    return Part(
        kind="kv_preemption_thrash",
        trouble=Trouble(actions=[(a, set_to(share)), (b, set_to(1.0))]),
        plausible=("cache_pollution",),
        events=((b, "rollback", "gpu_memory_utilization back to 0.9"),),
    )


def prefix_cache_disabled(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """Caching is off: by a rollout with other flags, or broken while engines keep counting look-ups."""
    is_rollout, is_renamed = rng.random() < 0.6, not shop.nodes[0].pod.endswith("-0") and rng.random() < 0.8
    gap_s = rng.uniform(10, 40)

    def switch(place: int, is_on: bool, name: str | None) -> Callable[[Fleet], None]:
        def action(fleet: Fleet) -> None:
            if is_rollout:
                fleet.kill(place)
                fleet.revive(place, renamed=name)
            fleet.replicas[place].is_caching = is_on
            fleet.replicas[place].counts_lookups = not is_rollout

        return action

    actions: list[Action] = []
    for place, node in enumerate(shop.nodes):
        for at, is_on in ((a, False), (b, True)):
            name = f"{node.pod}{'b' if is_on else 'a'}" if is_renamed else None
            if is_rollout:
                actions.append((at + place * gap_s - 4, _out(place)))
            actions.append((at + place * gap_s, switch(place, is_on, name)))
    del strength
    return Part(
        kind="prefix_cache_disabled",
        trouble=Trouble(actions=actions),
        plausible=("memory_bandwidth_saturation", "kv_preemption_thrash", "rollout_cold_cache"),
        events=(
            (a, "deploy", "inference engine rolled out with new flags"),
            (b, "rollback", "inference engine rolled back"),
        ),
    )


def rollout_cold_cache(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """Replicas restart one after the other and warm up; crash loops do it again and again."""
    is_renamed = not shop.nodes[0].pod.endswith("-0")
    down_s, gap_s = rng.uniform(20, 70), rng.uniform(60, 150)
    actions, at, turn = list[Action](), a, 0
    while at < min(b, a + 240 + 500 * strength):
        place = turn % len(shop.nodes)
        name = f"{shop.nodes[place].pod}r{turn}" if is_renamed else None
        actions += [(at - 5, _out(place)), (at, killed(place)), (at + down_s, back(place, name))]
        at, turn = at + down_s + gap_s / strength, turn + 1
    return Part(
        kind="rollout_cold_cache",
        trouble=Trouble(actions=actions),
        plausible=("replica_loss", "cache_pollution", "kv_preemption_thrash"),
        events=((a, "deploy", "inference engine: image with security fixes rolled out"),),
    )


def replica_loss(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """A replica is gone until the end: its node was taken away, or its process dies and stays dead."""
    count = 1 if len(shop.nodes) < 4 or strength < 1.6 else 2
    places = tuple(rng.sample(range(len(shop.nodes)), count))
    notices_s = rng.uniform(3, 30)
    actions: list[Action] = []
    for place in places:
        name = f"{shop.nodes[place].pod}n" if not shop.nodes[place].pod.endswith(f"-{place}") else None
        actions += [(a, killed(place)), (a + notices_s, _out(place)), (b, back(place, name))]
    return Part(
        kind="replica_loss",
        trouble=Trouble(actions=actions),
        affected=places,
        plausible=("traffic_surge", "cache_pollution", "kv_preemption_thrash"),
        events=((b, "mitigation", "lost replica replaced"),),
    )


def gpu_fault(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """A GPU fails: an XID, often its last word, and its replica with it."""
    lost = replica_loss(shop, rng, a, b, strength)
    xid = rng.choice((48, 79, 79, 95, 119))
    card = rng.randrange(shop.gpus)
    is_silent = xid == 79

    def fail(fleet: Fleet) -> None:
        for place in lost.affected:
            gpu = fleet.gpus[place][card]
            gpu.xid = xid
            gpu.ecc += 2 if xid in {48, 95} else 0

    def fall_silent(fleet: Fleet) -> None:
        for place in lost.affected:
            fleet.gpus[place][card].is_silent = is_silent

    actions = [(a - 1, fail), (a + 2 * shop.scrape_s, fall_silent), *lost.trouble.actions]
    return Part(
        kind="gpu_fault",
        trouble=Trouble(actions=actions),
        affected=lost.affected,
        plausible=("replica_loss", *lost.plausible),
        events=((b, "mitigation", "node with the failed GPU replaced"),),
    )


def upstream_network(
    shop: Shop, rng: Random, a: float, b: float, strength: float, share: float | None = None
) -> Part:
    """Time lost between gateway and engine: for a share of requests, or for all; to all hosts, or to some."""
    places = set(range(len(shop.nodes))) if rng.random() < 0.6 else set(_some(shop, rng))
    share = share or rng.choice((0.08, 0.2, 0.5, 1.0))
    median_s, salt = rng.uniform(0.8, 2.5) * strength, rng.randrange(1000)

    def delay(ask: Ask, place: int, at: float) -> tuple[float, float]:
        if not a <= at < b or place not in places or chance(ask.number, salt) >= share:
            return 0.0, 0.0
        spread = 2 * chance(ask.number, salt + 1) - 1
        return median_s * math.exp(0.9 * spread), 0.0

    return Part(
        kind="upstream_network",
        trouble=Trouble(delay=delay),
        affected=tuple(sorted(places)),
        events=((b, "mitigation", "traffic moved off a degraded link"),),
    )


def cpu_or_tokenizer_bottleneck(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """Tokenizing takes time by prompt length, before the engine's queue, in its process or in front of it."""
    per_token_s = rng.uniform(0.15e-3, 0.5e-3) * strength
    is_inside, salt = rng.random() < 0.35, rng.randrange(1000)

    def delay(ask: Ask, _place: int, at: float) -> tuple[float, float]:
        if not a <= at < b:
            return 0.0, 0.0
        lost_s = per_token_s * ask.prompt_tokens * math.exp(0.5 * (2 * chance(ask.number, salt) - 1))
        return (0.0, lost_s) if is_inside else (lost_s, 0.0)

    return Part(
        kind="cpu_or_tokenizer_bottleneck",
        trouble=Trouble(delay=delay),
        events=((b, "mitigation", "tokenizer pool restarted with more workers"),),
    )


def clock_skew_artifact(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """The clock of a machine jumps; nothing slows."""
    del a, b
    seconds = rng.choice((-1, 1)) * rng.uniform(2, 20) * strength
    return Part(
        kind="clock_skew_artifact",
        trouble=Trouble(),
        clock_jumps=tuple((place, seconds) for place in _some(shop, rng)),
    )


def _some(shop: Shop, rng: Random) -> tuple[int, ...]:
    count = rng.randint(1, max(1, len(shop.nodes) // 2))
    return tuple(sorted(rng.sample(range(len(shop.nodes)), count)))


def speed(place: int, factor: float) -> Callable[[Fleet], None]:
    """Steps of one replica last so many times as long from then on."""

    def action(fleet: Fleet) -> None:
        fleet.replicas[place].speed *= factor

    return action


def _out(place: int) -> Callable[[Fleet], None]:
    def action(fleet: Fleet) -> None:
        fleet.is_out[place] = True

    return action


def killed(place: int) -> Callable[[Fleet], None]:
    def action(fleet: Fleet) -> None:
        fleet.kill(place)

    return action


def back(place: int, name: str | None) -> Callable[[Fleet], None]:
    def action(fleet: Fleet) -> None:
        fleet.revive(place, renamed=name)

    return action

"""Kinds of trouble that come with the requests. Each: (shop, rng, from, to, strength) -> Part; seconds."""

from dataclasses import replace
from random import Random

from simulated.fleet import Fleet, Trouble
from simulated.parts import Part, chance
from simulated.shop import Shop, draw_tenant
from simulated.traffic import Ask, Asking, usual

MINUTE = 60.0


def long_context_surge(
    shop: Shop, rng: Random, a: float, b: float, strength: float, *, harmless: bool = False
) -> Part:
    """A batch of long prompts from a few ranges; harmless: a few documents asked again and again."""
    tenant = draw_tenant(rng, "rag", "batch", is_narrow=True)
    shortest, longest = (4500, 7000) if harmless else (6000, rng.choice((12_000, 20_000, 30_000)))
    mean = (shortest + longest) / 2
    turns = 1 if harmless else rng.choice((1, 2, 4))
    share = rng.uniform(0.25, 0.5) * strength
    per_s = share * len(shop.nodes) / (mean * shop.hardware.token_s / turns)
    if harmless:
        per_s = rng.uniform(0.15, 0.35) * shop.per_s
    asking, seed = Asking(shop, rng, 20_000_000), rng.random()

    def change(asks: list[Ask]) -> list[Ask]:
        own = Random(seed)
        extra, at, number = [], a, 0
        while (at := at + own.expovariate(per_s)) < b:
            one = asking.ask(tenant, at)
            document = own.randrange(2) if harmless else number // turns
            length = int(Random(f"{seed}/{document}").uniform(shortest, longest))
            number += 1
            segments = (one.segments[0], (f"batch/{document}", length))
            prompt = sum(tokens for _, tokens in segments) + tenant.question_tokens
            extra.append(replace(one, segments=segments, prompt_tokens=prompt, session=document))
        return asks + extra

    nets = tuple(f"{first}/{length}" for first, length in tenant.networks)
    return Part(
        kind="" if harmless else "long_context_surge",
        trouble=Trouble(change=change),
        culprits=() if harmless else nets,
        plausible=("cache_pollution", "kv_preemption_thrash", "memory_bandwidth_saturation", "traffic_surge"),
        events=((b, "mitigation", "long requests of one client refused at the gateway"),)
        if not harmless
        else (),
    )


def cache_pollution(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """Some tenants ask about ever new documents, as long and as often as before."""
    most = [tenant.name for tenant in shop.tenants if tenant.kind == "rag"]
    swept = set(most[: max(1, round(len(most) * min(1.0, 0.5 * strength)))])

    def change(asks: list[Ask]) -> list[Ask]:
        return [_fresh(one) if a <= one.at < b and one.tenant in swept else one for one in asks]

    return Part(
        kind="cache_pollution",
        trouble=Trouble(change=change),
        plausible=("memory_bandwidth_saturation", "kv_preemption_thrash"),
    )


def _fresh(one: Ask) -> Ask:
    return replace(one, segments=(one.segments[0], (f"sweep/{one.number}", one.segments[1][1])))


def traffic_surge(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """More of the usual requests, from the usual clients and some new ones of the same kind."""
    times = rng.uniform(0.7, 1.3) * strength
    more = usual(replace(shop, per_s=shop.per_s * times), Random(rng.random()))
    extra = [
        replace(one, number=one.number + 30_000_000, session=one.session + 7, status=0)
        for one in more
        if a <= one.at < b
    ]
    return Part(
        kind="traffic_surge",
        trouble=Trouble(change=lambda asks: asks + extra),
        plausible=("cache_pollution", "kv_preemption_thrash", "memory_bandwidth_saturation"),
    )


def retry_storm(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """A burst of some minutes; clients that give up ask again while engines still work for nobody."""
    burst = traffic_surge(shop, rng, a, a + rng.uniform(2, 4) * MINUTE, 2.5 * strength)

    def refuse(fleet: Fleet) -> None:
        fleet.refuses_retries = True
        fleet.drop_queues()

    return Part(
        kind="retry_storm",
        trouble=Trouble(change=burst.trouble.change, actions=[(b, refuse)], attempts=rng.randint(5, 9)),
        plausible=("traffic_surge", "cache_pollution", "kv_preemption_thrash", "replica_loss"),
        events=((b, "mitigation", "gateway refuses automatic retries with 429; queued work dropped"),),
    )


def output_length_surge(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """Answers grow: those of one client who came for it, or everybody's a bit."""
    if rng.random() < 0.6:
        tenant = draw_tenant(rng, "rag", "essays", is_narrow=True)
        tenant = replace(tenant, output_tokens=round(rng.uniform(450, 1100) * strength))
        per_s = rng.uniform(0.08, 0.25) * shop.per_s
        asking, seed = Asking(shop, rng, 20_000_000), rng.random()

        def added(asks: list[Ask]) -> list[Ask]:
            own = Random(seed)
            at, extra = a, []
            while (at := at + own.expovariate(per_s)) < b:
                extra.append(asking.ask(tenant, at))
            return asks + extra

        nets = tuple(f"{first}/{length}" for first, length in tenant.networks)
        trouble, events = Trouble(change=added), ((b, "mitigation", "max_tokens capped for one API key"),)
    else:
        times, nets = rng.uniform(2.2, 4.5) * strength, ()

        def grown(asks: list[Ask]) -> list[Ask]:
            return [
                replace(one, output_tokens=round(one.output_tokens * times)) if a <= one.at < b else one
                for one in asks
            ]

        trouble, events = Trouble(change=grown), ((b, "rollback", "system prompt of yesterday restored"),)
    return Part(
        kind="output_length_surge",
        trouble=trouble,
        culprits=nets,
        plausible=("kv_preemption_thrash", "memory_bandwidth_saturation", "cache_pollution", "traffic_surge"),
        events=events,
    )


def ramped(part: Part, a: float, over_s: float) -> Part:
    """The same part, whose requests come in slowly, more from minute to minute."""
    whole = part.trouble.change

    def change(asks: list[Ask]) -> list[Ask]:
        known = {one.number: one for one in asks}
        return [
            one if chance(one.number, 9) * over_s < one.at - a else known[one.number]
            for one in whole(asks)
            if one.number in known or chance(one.number, 9) * over_s < one.at - a
        ]

    return replace(part, trouble=replace(part.trouble, change=change))


def mix_shift(shop: Shop, rng: Random, a: float, b: float, strength: float) -> Part:
    """Most of the quick requests go missing; what is left is no slower, but a larger part of it is slow."""
    share = min(0.96, rng.uniform(0.8, 0.9) * strength**0.2)

    def change(asks: list[Ask]) -> list[Ask]:
        return [
            one
            for one in asks
            if not (a <= one.at < b and one.tenant != "reports" and chance(one.number, 5) < share)
        ]

    return Part(
        kind="mix_shift",
        trouble=Trouble(change=change),
        events=((a, "note", "a partner that embeds the widget is down for maintenance"),),
    )

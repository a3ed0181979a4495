"""Who asks what, and when: the requests of a shop in order of arrival, the same whatever goes wrong."""

import math
from dataclasses import dataclass, replace
from random import Random

from simulated.shop import Shop, Tenant, draw_address


@dataclass(frozen=True, slots=True)
class Ask:
    """One request as its client sends it. status: what the gateway answers at once; 0 passes it on."""

    at: float
    number: int
    tenant: str
    session: int
    client: str
    peer: str
    agent: str
    segments: tuple[tuple[str, int], ...]
    prompt_tokens: int
    output_tokens: int
    status: int = 0
    attempt: int = 0


class Asking:
    """Draws the requests of tenants; numbers them apart from those of other sources by `base`."""

    def __init__(self, shop: Shop, rng: Random, base: int) -> None:
        self._shop, self._rng, self._number = shop, rng, base
        self._sessions: dict[str, list[tuple[int, int, str]]] = {}

    def ask(self, tenant: Tenant, at: float) -> Ask:
        """One request of that tenant: of a session under way, or of a new one."""
        rng = self._rng
        self._number += 1
        open_sessions = self._sessions.setdefault(tenant.name, [])
        turns = 0
        if open_sessions and rng.random() < 0.8:
            place = rng.randrange(len(open_sessions))
            session, turns, client = open_sessions[place]
            open_sessions[place] = (session, turns + 1, client)
            if rng.random() < 0.12:
                del open_sessions[place]
        else:
            session, client = self._number, draw_address(rng, rng.choice(tenant.networks))
            open_sessions.append((session, 1, client))
            if len(open_sessions) > 30:
                del open_sessions[0]
        output = max(4, round(tenant.output_tokens * rng.lognormvariate(-0.06, 0.35)))
        question = max(5, round(tenant.question_tokens * rng.lognormvariate(0, 0.5)))
        segments = [(f"{tenant.name}/system", tenant.system_tokens)]
        low, high = tenant.body_tokens
        if tenant.kind == "chat":
            grown = round(turns * (tenant.question_tokens + tenant.output_tokens))
            segments.append((f"{tenant.name}/{session}", min(low + grown, 6000)))
        else:
            shelf = min(int(rng.expovariate(4 / tenant.library)), tenant.library - 1)
            segments.append((f"{tenant.name}/doc{shelf}", low + shelf * 7919 % (high - low)))
        return Ask(
            at=at,
            number=self._number,
            tenant=tenant.name,
            session=session,
            client=client,
            peer=client if tenant.is_direct else rng.choice(self._shop.peers),
            agent=("python-requests/2.32", "okhttp/4.12", "node-fetch/3.3", "Go-http-client/2.0")[
                session % 4
            ],
            segments=tuple(segments),
            prompt_tokens=sum(tokens for _, tokens in segments) + question,
            output_tokens=output,
        )


def usual(shop: Shop, rng: Random) -> list[Ask]:
    """The requests of a shop from 20 minutes before the recording on, with the day's swing and bursts."""
    asking = Asking(shop, rng, 0)
    per_s = shop.per_s
    swing, phase, wander = rng.uniform(0, 0.15), rng.uniform(0, 6.28), 0.0
    found = []
    weights = [tenant.weight for tenant in shop.tenants]
    for minute in range(-20, shop.minutes):
        wander = 0.8 * wander + rng.gauss(0, 0.07)
        rate = per_s * (1 + swing * math.sin(phase + minute / 60)) * math.exp(wander)
        at = 60.0 * minute
        while (at := at + rng.expovariate(rate)) < 60 * (minute + 1):
            [tenant] = rng.choices(shop.tenants, weights)
            one = asking.ask(tenant, at)
            if rng.random() < 0.03 and tenant.kind == "rag":
                one = longer(one, rng, 60)
            if rng.random() < shop.error_ratio:
                one = replace(one, status=rng.choice((400, 400, 500)))
            found.append(one)
    return found


def of_length(one: Ask, times: float) -> Ask:
    """The same with a prompt so many times as long."""
    if times == 1.0:
        return one
    segments = tuple((name, max(1, round(times * tokens))) for name, tokens in one.segments)
    return replace(one, segments=segments, prompt_tokens=max(5, round(times * one.prompt_tokens)))


def longer(one: Ask, rng: Random, library: int) -> Ask:
    """The same request about a long document, one of so many."""
    shelf = rng.randrange(library)
    document = (f"{one.tenant}/long{shelf}", 4200 + shelf * 7919 % 5000)
    question = one.prompt_tokens - sum(tokens for _, tokens in one.segments)
    segments = (one.segments[0], document)
    return replace(one, segments=segments, prompt_tokens=sum(t for _, t in segments) + question)

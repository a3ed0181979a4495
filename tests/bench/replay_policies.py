"""Policies as they are in force in the simulator: what the what-if of the same name is held against."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from simulated.cases import Case
from simulated.engine import Job
from simulated.fleet import Fleet, Trouble
from simulated.parts import Part
from simulated.shop import Shop
from simulated.traffic import Ask

LONG = 4096  # tokens, from which on a prompt is long (thresholds.yaml)
CAP = 256 * 32  # tokens of block_cap
Change = Callable[[list[Ask]], list[Ask]]
BEFORE_S = -1200.0  # the beginning of a case's requests


def p99s(case: Case, p99_s: Callable[[Fleet], float]) -> Mapping[str, float]:
    """P99 of the case under each policy, and under none (""), by the name that the product has for it."""
    parts = case.parts
    engines: Mapping[str, Callable[[Fleet], None]] = {
        "cache_off": _without_cache,
        "shortest_first": _ranked(lambda job: job.prompt_tokens),
        "own_queue": _ranked(lambda job: int(job.prompt_tokens >= 2048)),
    }
    found = {"": p99_s(case.fleet)}
    for name, action in engines.items():
        found[name] = p99_s(case.again((*parts, Part("", Trouble(actions=[(BEFORE_S, action)])))))
    for name, change in {"block_cap": _capped, "limit_long": _limited(case)}.items():
        found[name] = p99_s(case.again((*parts, Part("", Trouble(change=change)))))
    found["one_more_replica"] = p99_s(case.again(parts, shop=_larger(case.shop)))
    return found


def _without_cache(fleet: Fleet) -> None:
    for one in fleet.replicas:
        one.is_caching = False


def _ranked(rank: Callable[[Job], int]) -> Callable[[Fleet], None]:
    def action(fleet: Fleet) -> None:
        for one in fleet.replicas:
            one.rank = rank

    return action


def _capped(asks: list[Ask]) -> list[Ask]:
    return [
        replace(one, output_tokens=min(one.output_tokens, CAP - one.prompt_tokens))
        for one in asks
        if one.prompt_tokens < CAP
    ]


def _limited(case: Case) -> Change:
    """As many long prompts a minute as there were before the trouble, the first of each minute."""

    def change(asks: list[Ask]) -> list[Ask]:
        before = sum(0 <= one.at < case.start_s and one.prompt_tokens >= LONG for one in asks)
        allowed, passed, kept = math.ceil(60 * before / case.start_s), dict[int, int](), []
        for one in asks:
            if one.prompt_tokens >= LONG:
                passed[int(one.at // 60)] = passed.get(int(one.at // 60), 0) + 1
            if one.prompt_tokens < LONG or passed[int(one.at // 60)] <= allowed:
                kept.append(one)
        return kept

    return change


def _larger(shop: Shop) -> Shop:
    node = replace(shop.nodes[-1], pod="one-more", host="one-more", address="10.9.9.9")
    return replace(shop, nodes=(*shop.nodes, node))

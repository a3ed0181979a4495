"""The engine model once more, as plainly as can be, one step at a time: what the compiled one must equal."""

import math
from dataclasses import dataclass


@dataclass
class Running:
    """A request that has come. computed, held: tokens and blocks; found: tokens from the cache."""

    number: int
    arrival: float
    prompt: int
    cached: int
    output: int
    computed: int = 0
    found: int = 0
    held: int = 0
    emitted: int = 0
    preempted: int = 0
    scheduled: float = math.nan
    first: float = math.nan
    last: float = math.nan


def replayed(
    requests,
    law,
    slow,
    budget,
    chunk,
    most,
    blocks,
    block,
    long_from=math.inf,
    long_most=1,
    patience=math.inf,
):
    """Requests (arrival, prompt, cached, output) through one engine; slow: of a time, its slowness."""
    every = [Running(number, *request) for number, request in enumerate(requests)]
    fitting = [one for one in every if math.ceil((one.prompt + one.output) / block) <= blocks]
    waiting, running, now, coming, free = [], [], 0.0, 0, blocks

    def is_long(one):
        return one.prompt - one.cached >= long_from

    while coming < len(fitting) or waiting or running:
        if not waiting and not running:
            now = max(now, fitting[coming].arrival)
        while coming < len(fitting) and fitting[coming].arrival <= now:
            waiting.append(fitting[coming])
            coming += 1
        waiting = [one for one in waiting if not math.isnan(one.scheduled) or now - one.arrival <= patience]
        if not waiting and not running:
            continue
        left, has_preempted, tokens = budget, False, {}
        prefill = decodes = context = square = 0.0
        at = 0
        while at < len(running) and left > 0:
            one = running[at]
            missing = one.prompt + one.emitted - one.computed
            is_decode = one.emitted > 0 and missing == 1
            take = min(missing, left) if is_decode else min(missing, left, chunk)
            more = math.ceil((one.computed + take - one.found) / block) - one.held
            while more > free:
                last = running.pop()
                free += last.held
                last.held = last.computed = last.found = 0
                last.preempted += 1
                waiting.append(last)
                has_preempted = True
                if last is one:
                    break
            if one not in running:
                break
            free -= more
            one.held += more
            tokens[one.number] = take
            left -= take
            if is_decode:
                decodes, context = decodes + 1, context + one.computed
            else:
                prefill, square = prefill + take, square + take * (one.computed + take / 2)
            at += 1
        waiting.sort(key=lambda one: (one.arrival, one.number))
        while not has_preempted and left > 0 and len(running) < most:
            computing = sum(is_long(one) and not one.emitted for one in running)
            may_go = [one for one in waiting if computing < long_most or not is_long(one)]
            if not may_go:
                break
            one = may_go[0]
            found = 0 if one.preempted else one.cached
            missing = one.prompt + one.emitted - found
            if math.ceil(missing / block) > free:
                break
            waiting.remove(one)
            take = min(missing, left, chunk)
            one.computed = one.found = found
            one.held = math.ceil(take / block)
            free -= one.held
            one.scheduled = now if math.isnan(one.scheduled) else one.scheduled
            running.append(one)
            tokens[one.number] = take
            left -= take
            prefill, square = prefill + take, square + take * (found + take / 2)
        terms = (1, prefill, decodes, context, square)
        now += slow(now) * sum(each * term for each, term in zip(law, terms, strict=True))
        for one in list(running):
            one.computed += tokens.get(one.number, 0)
            if one.number in tokens and one.computed == one.prompt + one.emitted:
                one.emitted += 1
                one.first = now if math.isnan(one.first) else one.first
                if one.emitted == one.output:
                    one.last = now
                    free += one.held
                    running.remove(one)
    return every

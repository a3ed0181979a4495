"""The engine model: one replica's scheduler, step by step, in compiled code.

It follows the scheduler of vLLM V1: running requests first, each with as many tokens as the step's budget
leaves; the last one admitted gives up its memory where there is none; then those that wait, unless the step
took memory from one. A prompt is computed in chunks; a step that finishes one gives its first token.
"""

import numba
import numpy as np

from tracemortem.replay.waiting import goes_before, pop, push, without_impatient

COLUMNS = 5  # of a law: seconds a step, a prefill token, a decoding sequence, a token of context, a square


@numba.njit(nogil=True, cache=True)
def _room(tokens: int, block: int) -> int:
    return (tokens + block - 1) // block


@numba.njit(nogil=True, cache=True)
def run(
    arrival: np.ndarray,
    prompt: np.ndarray,
    cached: np.ndarray,
    output: np.ndarray,
    key: np.ndarray,
    patience: np.ndarray,
    law: np.ndarray,
    slow_from: np.ndarray,
    slowness: np.ndarray,
    budget: int,
    chunk: int,
    long_from: int,
    long_most: int,
    most: int,
    blocks: int,
    block: int,
    times: np.ndarray,
    preempted: np.ndarray,
) -> None:
    """Replay the requests of one replica, sorted by arrival.

    arrival    s, shape (n,)
    prompt     tokens, at least 1; cached of them are not computed (at most prompt - 1)
    output     tokens, at least 1
    key        who goes first among those that wait: the smallest
    patience   s, after which one that was never scheduled leaves the queue
    law        seconds a step, a prefill token, a decoding sequence, a token of context of those, and a
               prefill token times the tokens it attends to; shape (COLUMNS,)
    slow_from  s, ascending, the first at or before every arrival: from then on steps last slowness times
               as long; shape (m,)
    budget     tokens a step computes at most; chunk of them of one prompt
    long_from  tokens to compute, from which on a prompt is long; long_most of those are computed at once
    most       requests that run at once
    blocks     of memory for KV, each of block tokens
    times      out: when scheduled first, first token, last token, in s; shape (n, 3)
    preempted  out: how often each gave up its memory; shape (n,)

    A request that does not fit into an empty engine, or that left, has no times (nan).
    """
    count = arrival.size
    waiting = np.empty(count, np.int64)
    waits = 0
    lengthy = np.empty(count, np.int64)  # those that wait and are long
    lengths = 0
    longs = 0  # that run and have not all of their prompt yet
    running = np.empty(most, np.int64)
    runs = 0
    computed = np.zeros(count, np.int64)
    emitted = np.zeros(count, np.int64)
    shared = np.zeros(count, np.int64)  # tokens found in the cache: they take no memory of its own
    held = np.zeros(count, np.int64)
    step = np.zeros(most, np.int64)
    free = blocks
    coming = 0
    now = 0.0
    bin_ = 0
    times[:] = np.nan
    preempted[:] = 0
    while coming < count or waits or lengths or runs:
        if not waits and not lengths and not runs:
            now = max(now, arrival[coming])
        while coming < count and arrival[coming] <= now:
            fits = _room(prompt[coming] + output[coming], block) <= blocks
            if fits and prompt[coming] - cached[coming] >= long_from:
                lengths = push(lengthy, lengths, key, coming)
            elif fits:
                waits = push(waiting, waits, key, coming)
            coming += 1
        waits = without_impatient(waiting, waits, key, arrival, patience, times, now)
        lengths = without_impatient(lengthy, lengths, key, arrival, patience, times, now)
        if not waits and not lengths and not runs:
            continue
        while bin_ + 1 < slow_from.size and slow_from[bin_ + 1] <= now:
            bin_ += 1
        slow = slowness[bin_]

        # what runs
        left = budget
        prefill = 0
        decodes = 0
        context = 0
        square = 0.0
        has_preempted = False
        at = 0
        while at < runs and left > 0:
            one = running[at]
            total = prompt[one] + emitted[one]
            take = min(total - computed[one], left)
            is_decode = emitted[one] > 0 and total - computed[one] == 1
            if not is_decode:
                take = min(take, chunk)
            more = _room(computed[one] + take - shared[one], block) - held[one]
            is_out = False
            while more > free:
                runs -= 1
                last = running[runs]
                free += held[last]
                held[last] = 0
                computed[last] = 0
                shared[last] = 0
                preempted[last] += 1
                if prompt[last] - cached[last] >= long_from:
                    lengths = push(lengthy, lengths, key, last)
                    longs -= emitted[last] == 0
                else:
                    waits = push(waiting, waits, key, last)
                has_preempted = True
                if last == one:
                    is_out = True
                    break
            if is_out:
                break
            free -= more
            held[one] += more
            step[at] = take
            left -= take
            if is_decode:
                decodes += 1
                context += computed[one]
            else:
                prefill += take
                square += take * (computed[one] + 0.5 * take)
            at += 1
        for rest in range(at, runs):
            step[rest] = 0

        # what waits
        is_full = False
        if not has_preempted:
            while left > 0 and runs < most:
                may_long = lengths > 0 and longs < long_most
                if not waits and not may_long:
                    break
                is_long = may_long and (not waits or goes_before(key, lengthy[0], waiting[0]))
                one = lengthy[0] if is_long else waiting[0]
                total = prompt[one] + emitted[one]
                found = cached[one] if preempted[one] == 0 else 0
                if _room(total - found, block) > free:
                    is_full = True
                    break
                take = min(total - found, left, chunk)
                if is_long:
                    lengths = pop(lengthy, lengths, key)
                    longs += emitted[one] == 0
                    lengths = without_impatient(lengthy, lengths, key, arrival, patience, times, now)
                else:
                    waits = pop(waiting, waits, key)
                    waits = without_impatient(waiting, waits, key, arrival, patience, times, now)
                computed[one] = found
                shared[one] = found
                held[one] = _room(found + take - shared[one], block)
                free -= held[one]
                if np.isnan(times[one, 0]):
                    times[one, 0] = now
                running[runs] = one
                step[runs] = take
                runs += 1
                left -= take
                prefill += take
                square += take * (found + 0.5 * take)

        lasts = law[0] + law[1] * prefill + law[2] * decodes + law[3] * context + law[4] * square
        steps = 1
        if prefill == 0 and decodes == runs and ((not waits and not lengths) or is_full or runs == most):
            # nothing changes until one ends, one comes, memory is short or the speed changes: as many steps
            # as that at once
            for at in range(runs):
                rest = output[running[at]] - emitted[running[at]]
                if at == 0 or rest < steps:
                    steps = rest
            while steps > 1:
                more = 0
                for at in range(runs):
                    one = running[at]
                    more += _room(computed[one] + steps - shared[one], block) - held[one]
                if more <= free:
                    break
                steps >>= 1
            until = np.inf
            if coming < count:
                until = arrival[coming]
            if bin_ + 1 < slow_from.size:
                until = min(until, slow_from[bin_ + 1])
            if waits and np.isnan(times[waiting[0], 0]):
                until = min(until, arrival[waiting[0]] + patience[waiting[0]])
            if lengths and np.isnan(times[lengthy[0], 0]):
                until = min(until, arrival[lengthy[0]] + patience[lengthy[0]])
            grows = law[3] * decodes
            if steps > 1 and now + slow * steps * (lasts + 0.5 * grows * (steps - 1)) > until:
                # the first step that ends at or after it: grows/2 k^2 + (lasts - grows/2) k = span
                span = (until - now) / slow
                if grows > 0:
                    linear = lasts - 0.5 * grows
                    root = (np.sqrt(linear * linear + 2 * grows * span) - linear) / grows
                else:
                    root = span / lasts if lasts > 0 else 1.0
                steps = min(steps, max(1, int(np.ceil(root))))
            if steps > 1:
                for at in range(runs):
                    one = running[at]
                    more = _room(computed[one] + steps - shared[one], block) - held[one]
                    held[one] += more
                    free -= more
                    step[at] = steps
            now += slow * steps * (lasts + 0.5 * grows * (steps - 1))
        else:
            now += slow * lasts

        kept = 0
        for at in range(runs):
            one = running[at]
            computed[one] += step[at]
            if step[at] and computed[one] >= prompt[one] + emitted[one]:
                emitted[one] += steps
                if np.isnan(times[one, 1]):
                    times[one, 1] = now
                    longs -= prompt[one] - cached[one] >= long_from
                if emitted[one] >= output[one]:
                    times[one, 2] = now
                    free += held[one]
                    held[one] = 0
                    continue
            running[kept] = one
            kept += 1
        runs = kept

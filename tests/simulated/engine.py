"""One replica: continuous batching, chunked prefill, a prefix cache and preemption, in few large steps.

Memory is counted in tokens. A prefix that requests share is an entry of the cache; entries that no running
request holds are evicted from the tail of the one unused longest. When even that gives no room for the next
token, the sequence admitted last is preempted and computed anew later, as vLLM V1 does.

A step lasts as long as the slower of computing and reading memory, and a part of the other:

    speed x (host + max(C, M) + overlap x min(C, M))
    C = token x P + sequence x B,  M = weights + context x X

P are the prompt tokens computed in it, B the sequences that get a token, X the tokens of context read. Steps
may stray from that, and now and then one stalls. Steps in which only decoding happens are taken together, up
to the next arrival or end of an answer.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf, sqrt
from random import Random

from simulated.counters import Counters
from simulated.hardware import Hardware


@dataclass(slots=True, eq=False)
class Job:
    """A request as the engine sees it, and what became of it. Times are seconds since the start."""

    segments: tuple[tuple[str, int], ...]
    prompt_tokens: int
    output_tokens: int
    arrived_at: float
    scheduled_at: float = -1.0
    first_token_at: float = -1.0
    finished_at: float = -1.0
    cached_tokens: int = -1


@dataclass(slots=True)
class Entry:
    """A shared prefix: tokens of it that are resident, and how many running requests hold it."""

    tokens: int = 0
    holders: int = 0


@dataclass(slots=True, eq=False)
class Sequence:
    """A job that runs. target: tokens before it decodes; own: of them, those not from the cache."""

    job: Job
    computed: int
    target: int
    own: int
    left: int
    held: bool
    began: int = 0  # the tick at which it began to decode


class Replica:
    """One engine. What goes wrong with it is set from outside: speed, context_factor, is_caching, room."""

    def __init__(self, hardware: Hardware, seed: int = 0) -> None:
        self.hardware = hardware
        self._random = Random(seed)
        self._until_stall = self._steps_to_stall()
        self.now = 0.0
        self.speed = 1.0  # of each step, above 1 is slower
        self.context_factor = 1.0  # of reading context
        self.is_caching = True
        self.counts_lookups = True
        self.room = hardware.kv_tokens
        self.rank: Callable[[Job], int] = lambda _: 0  # who waits goes by the smallest
        self.done: list[Job] = []
        self.waiting: deque[tuple[Job, int]] = deque()
        self.prefilling: list[Sequence] = []
        self.decoding: dict[int, Sequence] = {}
        self.restart()

    def restart(self) -> list[Job]:
        """Start anew, with an empty cache and counters at 0; returns the jobs that were lost."""
        lost = [job for job, _ in self.waiting]
        lost += [one.job for one in (*self.prefilling, *self.decoding.values())]
        self.waiting, self.prefilling, self.decoding = deque(), [], {}
        self._ends: list[tuple[int, int]] = []  # tick, serial of the sequence that ends with it
        self._ticks = self._serial = self._context = 0
        self.counters = Counters()
        self._entries: dict[str, Entry] = {}
        self._idle: OrderedDict[str, Entry] = OrderedDict()
        self._cached = self._idle_tokens = self._own = 0
        self.busy_s = self.memory_s = self.compute_s = 0.0
        return lost

    def submit(self, job: Job) -> None:
        """A job arrives, behind all of its rank; the replica must have been advanced to its arrival."""
        place = len(self.waiting)
        while place and self.rank(self.waiting[place - 1][0]) > self.rank(job):
            place -= 1
        self.waiting.insert(place, (job, 0))

    @property
    def running(self) -> int:
        """Jobs admitted."""
        return len(self.prefilling) + len(self.decoding)

    @property
    def usage(self) -> float:
        """Share of the memory that running jobs hold, 0 to 1."""
        return min(1.0, (self._own + self._cached - self._idle_tokens) / self.room)

    def advance(self, until: float) -> None:
        """Run until that time; the step then under way is finished."""
        while self.now < until:
            if self.prefilling or (self.waiting and self._may_admit()):
                self._mixed_step()
            elif self.decoding:
                self._decode_steps(until)
            else:
                self.now = until

    def _available(self) -> int:
        return self.room - self._own - self._cached + self._idle_tokens

    def _may_admit(self) -> bool:
        if self.running >= self.hardware.max_sequences:
            return False
        job, done = self.waiting[0]
        # the room must hold the whole prompt; one that never fits is let in alone
        return job.prompt_tokens + done <= self._available() or not self.running

    def _admit(self) -> Sequence:
        job, done = self.waiting.popleft()
        hit, whole = 0, True
        for key, tokens in job.segments if self.is_caching else ():
            entry = self._entries.setdefault(key, Entry())
            if entry.holders == 0 and self._idle.pop(key, None) is not None:
                self._idle_tokens -= entry.tokens
            entry.holders += 1
            if whole:
                hit += min(entry.tokens, tokens)
                whole = entry.tokens >= tokens
        hit = min(hit, job.prompt_tokens - 1) // 16 * 16
        if self.is_caching or self.counts_lookups:
            self.counters.queries += job.prompt_tokens
            self.counters.hits += hit
        self.counters.prompt += job.prompt_tokens
        if job.cached_tokens < 0:
            job.cached_tokens, job.scheduled_at = hit, self.now
            self.counters.queue.observe(self.now - job.arrived_at)
        target = job.prompt_tokens + done
        self._take(target - hit)
        return Sequence(job, hit, target, target - hit, job.output_tokens - done, self.is_caching)

    def _take(self, tokens: int) -> None:
        """Use so many tokens of room; idle prefixes are evicted for it as far as there are any."""
        self._own += tokens
        short = self._own + self._cached - self.room
        while short > 0 and self._idle:
            key, entry = next(iter(self._idle.items()))
            taken = min(short, entry.tokens)
            entry.tokens -= taken
            self._cached -= taken
            self._idle_tokens -= taken
            short -= taken
            if entry.tokens == 0:
                del self._idle[key], self._entries[key]

    def _mixed_step(self) -> None:
        self._preempt()
        budget = self.hardware.batched_tokens - len(self.decoding)
        tokens = read = place = 0
        while budget > 0:
            if place == len(self.prefilling):
                if not (self.waiting and self._may_admit()):
                    break
                self.prefilling.append(self._admit())
            one = self.prefilling[place]
            chunk = min(budget, one.target - one.computed)
            read += one.computed * chunk // 512  # tiles of 512 queries read the context once
            one.computed += chunk
            tokens += chunk
            budget -= chunk
            place += 1
        self._spend(1, tokens, read)
        for one in [one for one in self.prefilling if one.computed >= one.target]:
            self.prefilling.remove(one)
            self._serial += 1
            one.began = self._ticks
            self.decoding[self._serial] = one
            self._context += one.target
            heappush(self._ends, (self._ticks + one.left, self._serial))
            if one.job.first_token_at < 0:
                one.job.first_token_at = self.now
                self.counters.ttft.observe(self.now - one.job.arrived_at)
        self._finish()

    def _decode_steps(self, until: float) -> None:
        self._preempt()
        steps = min(self._ends[0][0] - self._ticks, self._available() // len(self.decoding))
        steps = max(1, min(steps, int((until - self.now) / self._step_s(0, 0)) + 1))
        self._spend(steps, 0, 0)
        self._finish()

    def _preempt(self) -> None:
        while len(self.decoding) > 1 and len(self.decoding) > self._available():
            _, one = self.decoding.popitem()
            self._release(one)
            self.counters.preemptions += 1
            made = one.job.output_tokens - one.left + self._ticks - one.began
            self.waiting.appendleft((one.job, made))
        self._forget_ended()

    def _forget_ended(self) -> None:
        while self._ends and self._ends[0][1] not in self.decoding:
            heappop(self._ends)

    def _memory_s(self, read: int) -> float:
        hardware = self.hardware
        return hardware.weights_s + self.context_factor * hardware.context_s * (self._context + read)

    def _step_s(self, tokens: int, read: int) -> float:
        hardware, memory = self.hardware, self._memory_s(read)
        compute = hardware.token_s * tokens + hardware.sequence_s * len(self.decoding)
        kernel = max(compute, memory) + hardware.overlap * min(compute, memory)
        return self.speed * (hardware.host_s + kernel)

    def _spend(self, steps: int, tokens: int, read: int) -> None:
        step_s, many = self._step_s(tokens, read), len(self.decoding)
        self.now += steps * step_s + self._astray_s(steps, step_s)
        self.busy_s += steps * (step_s - self.hardware.host_s)
        self.memory_s += steps * self._memory_s(read)
        self.compute_s += steps * (self.hardware.token_s * tokens + self.hardware.sequence_s * many)
        self._take(steps * many)
        self._context += steps * many
        self._ticks += steps
        self.counters.generated += steps * many

    def _steps_to_stall(self) -> float:
        ratio = self.hardware.stall_ratio
        return self._random.expovariate(ratio) if ratio else inf

    def _astray_s(self, steps: int, step_s: float) -> float:
        """By how much so many steps together differ from what they usually take."""
        strayed = max(-0.5 * steps, self._random.gauss(0, self.hardware.noise * sqrt(steps))) * step_s
        self._until_stall -= steps
        while self._until_stall < 0:
            self._until_stall += self._steps_to_stall()
            strayed += self.hardware.stall_s
        return strayed

    def _release(self, one: Sequence) -> None:
        made = self._ticks - one.began
        self._context -= one.target + made
        self._own -= one.own + made
        for key, _ in one.job.segments if one.held else ():
            entry = self._entries[key]
            entry.holders -= 1
            if entry.holders == 0 and entry.tokens:
                self._idle[key] = entry
                self._idle_tokens += entry.tokens
            elif entry.holders == 0:
                del self._entries[key]

    def _finish(self) -> None:
        while self._ends and self._ends[0][0] <= self._ticks:
            one = self.decoding.pop(heappop(self._ends)[1])
            own = one.own
            for key, tokens in one.job.segments if one.held else ():
                entry = self._entries[key]
                added = max(0, min(tokens - entry.tokens, own))
                own -= added
                entry.tokens += added
                self._cached += added
            self._release(one)
            one.job.finished_at = self.now
            self.counters.finished += 1
            self.counters.whole.observe(self.now - one.job.arrived_at)
            self.done.append(one.job)
            self._forget_ended()

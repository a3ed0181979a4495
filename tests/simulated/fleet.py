"""A shop at work: the gateway, its replicas and their GPUs, in order of time, and what instruments saw."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from simulated.counters import Counters
from simulated.engine import Job, Replica
from simulated.shop import Node, Shop
from simulated.traffic import Ask, of_length

GONE, BAD_GATEWAY, REFUSED = 499, 502, 429


@dataclass(slots=True)
class Exchange:
    """One request at the gateway: who asked, which replica answered, and when it was over."""

    ask: Ask
    place: int | None
    node: Node | None
    job: Job | None = None
    inside_s: float = 0.0  # time in the engine's process before its queue, told by nobody
    ended_at: float = -1.0
    status: int = 0


@dataclass(slots=True)
class Gpu:
    """One GPU's readings. silent: it reports nothing any more."""

    clock_mhz: float
    temperature_c: float
    throttle: int = 0
    xid: int = 0
    ecc: int = 0
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class EngineScrape:
    """What one engine's /metrics said."""

    at: float
    node: Node
    running: int
    waiting: int
    usage: float
    is_caching: bool
    counts_lookups: bool
    room: int
    counters: Counters


@dataclass(frozen=True, slots=True)
class GpuScrape:
    """What dcgm-exporter said of one GPU; the ratios are over the time since the scrape before."""

    at: float
    host: str
    number: int
    gpu: Gpu
    busy: float
    memory: float
    tensor: float


@dataclass
class Trouble:
    """What goes wrong: requests changed or added, actions at their times, and delays before the engine.

    delay  (ask, replica's place, time) -> seconds in the network, seconds inside the engine's process
    """

    change: Callable[[list[Ask]], list[Ask]] = lambda asks: asks
    actions: list[tuple[float, Callable[["Fleet"], None]]] = field(default_factory=list)
    delay: Callable[[Ask, int, float], tuple[float, float]] = lambda _ask, _place, _at: (0.0, 0.0)
    attempts: int = 1


class Fleet:
    """The state of a shop while it works."""

    def __init__(self, shop: Shop, trouble: Trouble, seed: int) -> None:
        self.shop, self.trouble = shop, trouble
        self.nodes = list(shop.nodes)
        hardware = shop.hardware.of_lengths(shop.lengths)
        self.replicas = [Replica(hardware, seed + place) for place in range(len(shop.nodes))]
        rng = Random(seed)
        base_mhz = rng.choice((1410, 1755, 1980))
        self.gpus = [
            [Gpu(base_mhz - 15 * rng.randrange(2), rng.uniform(38, 60)) for _ in range(shop.gpus)]
            for _ in shop.nodes
        ]
        if rng.random() < 0.3:  # an old error on a healthy GPU: the gauge keeps the last one
            rng.choice(self.gpus)[0].xid = rng.choice((13, 31, 43))
        self.is_dead = [False] * len(shop.nodes)  # the process is gone
        self.is_out = [False] * len(shop.nodes)  # the gateway sends it nothing
        self.refuses_retries = False
        self.exchanges: list[Exchange] = []
        self.engine_scrapes: list[EngineScrape] = []
        self.gpu_scrapes: list[GpuScrape] = []
        self._open: list[dict[int, Exchange]] = [{} for _ in shop.nodes]  # by id of the job
        # what a session asks while it waits for its answer
        self._busy_sessions: dict[int, list[Ask]] = {}
        self._turn = 0
        self._heap: list[tuple[float, int, Callable[..., None], Any]] = []
        self._entries = 0
        self._scraped: list[tuple[float, float, float, float]] = [(0.0, 0.0, 0.0, 0.0)] * len(shop.nodes)
        self._noise = Random(seed + 1)

    def run(self, asks: list[Ask]) -> "Fleet":
        """Let all requests pass, and the minutes of the recording go by; returns itself."""
        for replica in self.replicas:  # the requests before the recording fill the caches
            replica.now = asks[0].at
        for one in self.trouble.change(asks):
            self._put(one.at, self._receive, of_length(one, self.shop.lengths))
        for at, action in self.trouble.actions:
            self._put(at, action, self)
        late = Random(self.shop.start)
        for beat in range(-1, 60 * self.shop.minutes // self.shop.scrape_s):
            jitter = self.shop.scrape_jitter * late.uniform(-1, 1)
            self._put((beat + jitter) * self.shop.scrape_s + 3.0, self._scrape, None)
        end = 60.0 * self.shop.minutes
        while self._heap and self._heap[0][0] < end:
            at, _, what, who = heapq.heappop(self._heap)
            self._advance(at)
            what(who)
        self._advance(end)
        self.exchanges = [one for one in self.exchanges if 0 <= one.ended_at < end and one.ask.at >= 0]
        self.engine_scrapes = [one for one in self.engine_scrapes if one.at >= 0]
        self.gpu_scrapes = [one for one in self.gpu_scrapes if one.at >= 0]
        return self

    def kill(self, place: int) -> None:
        """A replica's process ends: its requests fail, its cache is gone."""
        lost = {id(job) for job in self.replicas[place].restart()}
        self.is_dead[place] = True
        now = self.replicas[place].now
        for key in [key for key in self._open[place] if key in lost]:
            self._close(place, key, now + 0.02, BAD_GATEWAY)
        self._open[place].clear()

    def revive(self, place: int, *, renamed: str | None = None) -> None:
        """The process is back, under another pod's name or the same, and the gateway uses it."""
        self.is_dead[place] = self.is_out[place] = False
        if renamed is not None:
            self.nodes[place] = replace(self.nodes[place], pod=renamed)

    def drop_queues(self) -> None:
        """All engines forget their work; who waits gets an error."""
        for place in range(len(self.replicas)):
            self.kill(place)
            self.is_dead[place] = False

    def _put(self, at: float, what: Callable[..., None], who: Any) -> None:
        self._entries += 1
        heapq.heappush(self._heap, (at, self._entries, what, who))

    def _advance(self, until: float) -> None:
        for place, one in enumerate(self.replicas):
            one.advance(until)
            for job in one.done:
                if id(job) in self._open[place]:
                    self._close(place, id(job), job.finished_at + 0.002, 200)
            one.done.clear()

    def _close(self, place: int, key: int, at: float, status: int) -> None:
        exchange = self._open[place].pop(key)
        if self.shop.is_closed_loop:
            held = self._busy_sessions.pop(exchange.ask.session, [])
            for number, one in enumerate(held):
                self._put(at + 1.0 + number, self._receive, replace(one, at=at + 1.0 + number))
        if exchange.ended_at < 0:
            exchange.ended_at, exchange.status = at, status
            if status == BAD_GATEWAY:
                self._again(exchange.ask, at)

    def _receive(self, ask: Ask) -> None:
        if ask.attempt and self.refuses_retries:
            ask = replace(ask, status=REFUSED)
        choices = [place for place, out in enumerate(self.is_out) if not out]
        if ask.status or not choices:
            status = ask.status or 503
            self.exchanges.append(Exchange(ask, None, None, None, 0.0, ask.at + 0.003, status))
            return
        if self.shop.is_closed_loop and ask.attempt == 0:
            if ask.session in self._busy_sessions:
                self._busy_sessions[ask.session].append(ask)
                return
            self._busy_sessions[ask.session] = []
        place = self._chosen(ask, choices)
        exchange = Exchange(ask, place, self.nodes[place])
        self.exchanges.append(exchange)
        if self.is_dead[place]:
            exchange.ended_at, exchange.status = ask.at + 0.05, BAD_GATEWAY
            self._busy_sessions.pop(ask.session, None)
            self._again(ask, exchange.ended_at)
            return
        network_s, inside_s = self.trouble.delay(ask, place, ask.at)
        before_s = 0.002 + self._noise.expovariate(600) + 3e-6 * ask.prompt_tokens + network_s
        exchange.inside_s = inside_s
        job = Job(ask.segments, ask.prompt_tokens, ask.output_tokens, ask.at + before_s + inside_s)
        exchange.job = job
        self._open[place][id(job)] = exchange
        self._put(job.arrived_at, self._enter, (place, job))
        self._put(ask.at + self.shop.client_timeout_s, self._give_up, exchange)

    def _chosen(self, ask: Ask, choices: list[int]) -> int:
        if self.shop.balancing == "hash_session":
            return choices[ask.session * 2654435761 % 2**32 % len(choices)]
        self._turn += 1
        if self.shop.balancing == "round_robin":
            return choices[self._turn % len(choices)]
        return min(choices, key=lambda place: (len(self._open[place]), (place + self._turn) % len(choices)))

    def _enter(self, what: tuple[int, Job]) -> None:
        place, job = what
        if self.is_dead[place]:
            if id(job) in self._open[place]:
                self._close(place, id(job), job.arrived_at, BAD_GATEWAY)
            return
        if id(job) in self._open[place]:
            self.replicas[place].submit(job)

    def _give_up(self, exchange: Exchange) -> None:
        if exchange.ended_at >= 0:
            return
        at = exchange.ask.at + self.shop.client_timeout_s
        exchange.ended_at, exchange.status = at, GONE
        self._again(exchange.ask, at)

    def _again(self, ask: Ask, at: float) -> None:
        if ask.attempt + 1 < self.trouble.attempts:
            wait_s = 0.3 + self._noise.expovariate(1.0)
            again = replace(ask, at=at + wait_s, attempt=ask.attempt + 1, number=ask.number + 10_000_000)
            self._put(again.at, self._receive, again)

    def _scrape(self, _: None) -> None:
        for place, one in enumerate(self.replicas):
            node, at = self.nodes[place], one.now
            if not self.is_dead[place]:
                self.engine_scrapes.append(
                    EngineScrape(
                        at=at + 0.1 * place,
                        node=node,
                        running=one.running,
                        waiting=len(one.waiting),
                        usage=one.usage,
                        is_caching=one.is_caching,
                        room=one.room,
                        counts_lookups=one.counts_lookups,
                        counters=one.counters.copy(),
                    )
                )
            last_at, busy_s, memory_s, compute_s = self._scraped[place]
            passed_s = max(1e-9, at - last_at)
            is_anew = one.busy_s < busy_s
            shares = [
                min(1.0, max(0.0, (now_s - (0 if is_anew else then_s)) / passed_s))
                for now_s, then_s in (
                    (one.busy_s, busy_s),
                    (one.memory_s, memory_s),
                    (one.compute_s, compute_s),
                )
            ]
            self._scraped[place] = (at, one.busy_s, one.memory_s, one.compute_s)
            for number, gpu in enumerate(self.gpus[place]):
                if not gpu.is_silent:
                    seen = replace(gpu)
                    seen.temperature_c += 8 * shares[0] + self._noise.gauss(0, 0.6)
                    self.gpu_scrapes.append(
                        GpuScrape(
                            at + 0.3 * place, node.host, number, seen, shares[0], 0.9 * shares[1], shares[2]
                        )
                    )

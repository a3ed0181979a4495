"""One replica: continuous batching with chunked prefill, step by step, as vLLM's scheduler does it.

A step lasts as long as its work does (the costs are hardware.py's):

    moving + calls + host + weights + prefill x P + sequence x B + context x C + attend x A

P are the prompt tokens computed in it, B the sequences that get a token, C the tokens of context those
sequences read, and A the sum of tokens x context of the chunks. Running prompts come first in order of
arrival, then waiting ones while the step's token budget lasts: a long prompt takes the whole budget step
after step, and whoever comes after it waits. Steps in which nothing but decoding happens are taken
together.

Moving is the block manager's: before a step it re-packs the free space that lies in short runs between the
blocks of running sequences. Those are pinned and stay, so the next step finds it fragmented again, and the
more long sequences run, the more. The copy engine moves the blocks while no kernel runs: GPU_UTIL does not
see it, the memory's own counter does. Calls are for blocks, and for room made by eviction.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from blocks import Entry, Pool
from hardware import (
    ATTEND_BYTES_PER_S,
    ATTEND_S,
    ATTENTION_S,
    BLOCK_BYTES,
    BLOCK_TOKENS,
    CALL_S,
    CONTEXT_S,
    COPY_BYTES_PER_S,
    EVICT_S,
    HOST_S,
    KV_BYTES_PER_TOKEN,
    POOL_BLOCKS,
    PREFILL_S,
    ROUND_BLOCKS,
    RUN_BLOCKS,
    SEQUENCE_S,
    TILE_TOKENS,
    WEIGHTS_BYTES,
    WEIGHTS_S,
)
from readings import Counters, Window
from traffic import MAX_OUTPUT_TOKENS, SYSTEM_BLOCKS, Feed, Request

BATCHED_TOKENS = 720  # budget of a step
MAX_SEQUENCES = 64
TAIL_BLOCKS = 15  # at most, of a question and its answer


@dataclass(slots=True)
class Sequence:
    """A request in the engine: how far it is, and what it holds."""

    request: Request
    entries: tuple[Entry, Entry]
    own: list[int]
    own_room: int  # tokens that still fit into its own last block
    computed: int
    cached: int
    promised: int
    scheduled_at: float
    first_token_at: float = 0.0
    left: int = 0  # tokens to generate yet

    def context(self) -> int:
        """Tokens it has in memory, once it decodes."""
        return self.request.prompt_tokens + self.request.output_tokens - self.left


@dataclass(frozen=True, slots=True)
class Finished:
    """What the engine knows of a finished request; times in seconds since the recording's start."""

    request: Request
    scheduled_at: float
    first_token_at: float
    finished_at: float
    cached_tokens: int


@dataclass(slots=True)
class Replica:
    """One engine on one GPU, fed by its own part of the traffic."""

    feed: Feed
    now: float
    pool: Pool = field(default_factory=lambda: Pool(POOL_BLOCKS, RUN_BLOCKS, ROUND_BLOCKS))
    counters: Counters = field(default_factory=Counters)
    window: Window = field(default_factory=Window)
    waiting: deque[Request] = field(default_factory=deque)
    prefilling: list[Sequence] = field(default_factory=list)
    decoding: list[Sequence] = field(default_factory=list)
    done: list[Finished] = field(default_factory=list)
    refused: list[Request] = field(default_factory=list)
    _context: int = 0  # tokens that the decoding sequences read in a step

    def advance(self, until: float) -> None:
        """Run until that time; the step then under way is finished."""
        while self.now < until:
            if not (self.waiting or self.prefilling or self.decoding):
                if self.feed.next_at() > until:
                    self.now = until
                    return
                self.now = max(self.now, self.feed.next_at())
            if self.feed.next_at() <= self.now:
                self._receive()
            if self.waiting or self.prefilling:
                self._mixed_step()
            elif self.decoding:
                self._decode_steps(until)

    def _receive(self) -> None:
        for request in self.feed.due(self.now):
            if request.status == 200:
                self.waiting.append(request)
            else:
                self.refused.append(request)
                self.feed.answered(request, request.arrives_at)

    def _decode_steps(self, until: float) -> None:
        """Decoding only: all steps until a block is needed, a sequence ends or somebody arrives."""
        moving_s = self._repack_s()
        calls_s = self._grow(moving_s)
        steps = 1
        if calls_s == 0.0:
            step_s = moving_s + HOST_S + self._kernel_s(0, 0)
            before_s = min(self.feed.next_at(), until) - self.now
            steps = min(min(one.left, one.own_room) for one in self.decoding)
            steps = max(1, min(steps, int(before_s / step_s) + 1))
        self._spend(steps, moving_s, calls_s, 0, 0)
        self._finish()

    def _mixed_step(self) -> None:
        """One step with prompts in it."""
        moving_s = self._repack_s()
        calls_s = self._grow(moving_s)
        budget = BATCHED_TOKENS - len(self.decoding)
        tokens = attended = 0
        for one in self._prompts():
            chunk = min(budget, one.request.prompt_tokens - one.computed)
            calls_s += self._extend(one, chunk, moving_s + calls_s)
            attended += chunk * (one.computed + chunk // 2)
            one.computed += chunk
            tokens += chunk
            budget -= chunk
            if budget == 0:
                break
        self._spend(1, moving_s, calls_s, tokens, attended)
        for one in [one for one in self.prefilling if one.computed == one.request.prompt_tokens]:
            self.prefilling.remove(one)
            self.decoding.append(one)
            one.first_token_at = self.now
            one.left = one.request.output_tokens - 1
            self._context += one.context()
            self.counters.first_token(one.request.arrives_at, one.scheduled_at, self.now)
            self.window.prompt_tokens += one.request.prompt_tokens
            self.window.prefill_s += self.now - one.scheduled_at
        self._finish()

    def _prompts(self) -> Iterator[Sequence]:
        """Those to be computed, in order: the running ones, then waiting ones as they are admitted."""
        yield from list(self.prefilling)
        while self.waiting and len(self.prefilling) + len(self.decoding) < MAX_SEQUENCES:
            admitted = self._admit(self.waiting[0])
            if admitted is None:
                return
            self.waiting.popleft()
            self.prefilling.append(admitted)
            yield admitted

    def _admit(self, request: Request) -> Sequence | None:
        """The request as a sequence, all blocks it will ever need promised to it; None: no room."""
        needed = SYSTEM_BLOCKS + request.body_blocks + TAIL_BLOCKS
        if not self.pool.has_room(needed):
            return None
        entries = (self.pool.hold(request.system), self.pool.hold(request.body))
        hits = len(entries[0].blocks)
        if hits == SYSTEM_BLOCKS:
            hits += len(entries[1].blocks)
        self.pool.reserved += needed - hits
        cached = hits * BLOCK_TOKENS
        self.counters.looked_up(request.prompt_tokens, cached)
        self.window.lookups += 1
        self.window.queried_tokens += request.prompt_tokens
        self.window.hit_tokens += cached
        return Sequence(request, entries, [], 0, cached, cached, needed - hits, self.now)

    def _extend(self, one: Sequence, tokens: int, before_s: float) -> float:
        """Blocks for the next tokens of a prompt, shared ones first; returns the calls' time in seconds."""
        have = -(-one.computed // BLOCK_TOKENS)
        wanted = -(-(one.computed + tokens) // BLOCK_TOKENS)
        one.own_room = wanted * BLOCK_TOKENS - one.computed - tokens
        if wanted == have:
            return 0.0
        taken, call_s = self._take(one, wanted - have, before_s)
        system, body = one.entries
        for position, block in enumerate(taken, start=have):
            in_body = position - SYSTEM_BLOCKS
            if position == len(system.blocks) < SYSTEM_BLOCKS:
                system.append(block)
            elif 0 <= in_body == len(body.blocks) < one.request.body_blocks:
                body.append(block)
            else:  # the question's, or of a prefix that two requests compute at once
                one.own.append(block)
        return call_s

    def _grow(self, before_s: float) -> float:
        """A block for every decoding sequence whose last is full; returns the calls' time in seconds."""
        calls_s = 0.0
        for one in self.decoding:
            if one.own_room == 0:
                taken, call_s = self._take(one, 1, before_s + calls_s)
                one.own.extend(taken)
                one.own_room = BLOCK_TOKENS
                calls_s += call_s
        return calls_s

    def _take(self, one: Sequence, count: int, before_s: float) -> tuple[list[int], float]:
        """So many of the blocks promised to a sequence, and the time of the call in seconds."""
        taken, rounds = self.pool.take(count)
        one.promised -= count
        self.pool.reserved -= count
        self.counters.allocations += 1
        self.counters.frees += rounds
        call_s = CALL_S + rounds * EVICT_S
        self.window.block_waits_s.append(before_s + call_s)
        return taken, call_s

    def _repack_s(self) -> float:
        """How long blocks are moved before a step."""
        unpinned = POOL_BLOCKS - self.pool.pinned_blocks()
        return 2 * BLOCK_BYTES * unpinned * self.pool.fragmentation_ratio() / COPY_BYTES_PER_S

    def _kernel_s(self, tokens: int, attended: int) -> float:
        """How long kernels run in a step with so many prompt tokens and tokens x context in it."""
        return (
            WEIGHTS_S
            + PREFILL_S * tokens
            + SEQUENCE_S * len(self.decoding)
            + CONTEXT_S * self._context
            + ATTEND_S * attended
        )

    def _spend(self, steps: int, moving_s: float, calls_s: float, tokens: int, attended: int) -> None:
        """Let so many equal steps pass; every decoding sequence gets a token in each."""
        kernel_s = self._kernel_s(tokens, attended)
        step_s = moving_s + calls_s + HOST_S + kernel_s
        self.now += steps * step_s
        window = self.window
        window.kernel_s += steps * kernel_s
        window.computed_tokens += tokens
        window.dram_bytes += steps * (
            COPY_BYTES_PER_S * moving_s
            + WEIGHTS_BYTES * (1 + tokens / TILE_TOKENS)
            + KV_BYTES_PER_TOKEN * self._context
            + ATTEND_BYTES_PER_S * ATTEND_S * attended
        )
        window.attention_s.append((ATTENTION_S + CONTEXT_S * self._context + ATTEND_S * attended, steps))
        if self.decoding:
            given = steps * len(self.decoding)
            window.decode_s.append((step_s, given))
            self.counters.between_tokens.add(step_s, given)
            for one in self.decoding:
                one.left -= steps
                one.own_room -= steps
            self._context += given

    def _finish(self) -> None:
        for one in [one for one in self.decoding if one.left <= 0]:
            self.decoding.remove(one)
            self._context -= one.context()
            self.pool.give_back(one.own)
            self.pool.reserved -= one.promised
            for entry in one.entries:
                self.pool.let_go(entry)
            self.counters.frees += 1
            tokens = one.request.output_tokens
            self.counters.finished(
                one.request.arrives_at, tokens, is_cut_off=tokens == MAX_OUTPUT_TOKENS, at=self.now
            )
            self.done.append(
                Finished(one.request, one.scheduled_at, one.first_token_at, self.now, one.cached)
            )
            self.feed.answered(one.request, self.now)

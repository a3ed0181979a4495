"""What a replica counts: totals since its start, and what happened since the last scrape."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

# coarser than vLLM's defaults, as its configuration allows: most of a page is buckets
TTFT_BOUNDS_S = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
TOKEN_BOUNDS_S = (0.02, 0.03, 0.05, 0.075, 0.1)
E2E_BOUNDS_S = (0.8, 1.0, 1.5, 2.0, 2.5, 5.0)
PHASE_BOUNDS_S = (1.0,)


class Histogram:
    """A Prometheus histogram: how many values up to each bound, how many in all, and their sum."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float, times: int = 1) -> None:
        """The value, observed so many times."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times


@dataclass(slots=True)
class Counters:
    """Totals since the replica's start."""

    queried_tokens: int = 0
    hit_tokens: int = 0
    generated_tokens: int = 0
    stopped: int = 0
    cut_off: int = 0
    allocations: int = 0
    frees: int = 0
    ttft: Histogram = field(default_factory=lambda: Histogram(TTFT_BOUNDS_S))
    between_tokens: Histogram = field(default_factory=lambda: Histogram(TOKEN_BOUNDS_S))
    e2e: Histogram = field(default_factory=lambda: Histogram(E2E_BOUNDS_S))
    queue: Histogram = field(default_factory=lambda: Histogram(PHASE_BOUNDS_S))
    prefill: Histogram = field(default_factory=lambda: Histogram(PHASE_BOUNDS_S))

    def looked_up(self, tokens: int, hits: int) -> None:
        """A prompt was looked up in the prefix cache."""
        self.queried_tokens += tokens
        self.hit_tokens += hits

    def first_token(self, arrived_at: float, scheduled_at: float, at: float) -> None:
        """A request got its first token."""
        self.ttft.add(at - arrived_at)
        self.queue.add(scheduled_at - arrived_at)
        self.prefill.add(at - scheduled_at)

    def finished(self, arrived_at: float, output_tokens: int, *, is_cut_off: bool, at: float) -> None:
        """A request got its last token."""
        self.e2e.add(at - arrived_at)
        self.generated_tokens += output_tokens
        if is_cut_off:
            self.cut_off += 1
        else:
            self.stopped += 1


@dataclass(slots=True)
class Window:
    """What happened since the last scrape; the weighted lists hold (seconds, times)."""

    kernel_s: float = 0.0
    dram_bytes: float = 0.0
    computed_tokens: int = 0  # of prompts, in chunks
    prompt_tokens: int = 0  # of prompts completed, cached ones included
    prefill_s: float = 0.0  # from each of those prompts' first chunk to its first token
    lookups: int = 0  # prompts begun
    queried_tokens: int = 0  # of those prompts
    hit_tokens: int = 0  # of those, found in the cache
    decode_s: list[tuple[float, int]] = field(default_factory=list)
    attention_s: list[tuple[float, int]] = field(default_factory=list)
    block_waits_s: list[float] = field(default_factory=list)


def quantile(values: Iterable[tuple[float, int]], share: float) -> float | None:
    """The smallest value that at least that share of the weight does not exceed; None if there is none."""
    ordered = sorted(values)
    wanted = share * sum(times for _, times in ordered)
    reached = 0
    for value, times in ordered:
        reached += times
        if reached >= wanted:
            return value
    return None

"""What an engine counts since its start."""

from bisect import bisect_left
from dataclasses import dataclass, field, replace

BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 40.0)


@dataclass
class Histogram:
    """Counts by bucket, and the sum of values."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_S) + 1))
    total: float = 0.0

    def observe(self, value: float) -> None:
        """One value more."""
        self.counts[bisect_left(BUCKETS_S, value)] += 1
        self.total += value

    def copy(self) -> "Histogram":
        """As it is now."""
        return Histogram(list(self.counts), self.total)


@dataclass
class Counters:
    """What an engine counts since its start."""

    queries: int = 0
    hits: int = 0
    prompt: int = 0
    generated: int = 0
    preemptions: int = 0
    finished: int = 0
    ttft: Histogram = field(default_factory=Histogram)
    queue: Histogram = field(default_factory=Histogram)
    whole: Histogram = field(default_factory=Histogram)

    def copy(self) -> "Counters":
        """As they are now."""
        return replace(self, ttft=self.ttft.copy(), queue=self.queue.copy(), whole=self.whole.copy())

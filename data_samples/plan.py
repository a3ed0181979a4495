"""What happens when, and how large it all is: what every part of a recording shares."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

STARTED_AT = datetime(2023, 11, 15, 1, 20, tzinfo=UTC)
HOURS = 130 / 60
SCRAPE_S = 15
WARM_UP_AT = -600.0  # caches fill before anything is recorded
_BATCH_S = 57 * 60.0  # 02:17
_MITIGATED_S = 86 * 60.0 + 40.0  # 02:46:40


@dataclass(frozen=True)
class Plan:
    """One recording. Instants are seconds since its start.

    A recording shorter than 2 h 10 min has its incident sooner and shorter, in proportion.
    """

    seed: int
    scale: float
    hours: float
    has_batch: bool

    @property
    def replicas(self) -> int:
        """Engines, each on a node of its own."""
        return max(1, round(3 * self.scale))

    @property
    def rate(self) -> float:
        """Factor on the requests of one replica: what whole replicas leave of the scale."""
        return 3 * self.scale / self.replicas

    @property
    def scrapes(self) -> int:
        """Scrapes of each target."""
        return round(self.hours * 3600) // SCRAPE_S

    @property
    def batch_at(self) -> float:
        """The batch starts."""
        return _BATCH_S * min(1.0, self.hours / HOURS)

    @property
    def mitigated_at(self) -> float:
        """From here on the gateway holds the batch's long requests back."""
        return _MITIGATED_S * min(1.0, self.hours / HOURS)

    def is_batch_running(self, at: float) -> bool:
        """Whether the audit department runs its batch at that time."""
        return self.has_batch and self.batch_at <= at < self.mitigated_at


def instant(at: float) -> datetime:
    """Seconds since the start as a time of day."""
    return STARTED_AT + timedelta(seconds=at)


def unix_ms(at: float) -> int:
    """Seconds since the start as milliseconds since 1970."""
    return int(STARTED_AT.timestamp()) * 1000 + round(at * 1000)

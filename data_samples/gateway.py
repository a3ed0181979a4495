"""What the gateway sees of a request: when it came and went, which upstream had it, and with what outcome."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random

from engine import Finished
from traffic import Request


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer. Times are milliseconds since the recording's start, as nginx keeps them.

    number    counts the exchanges in order of their end; the ids are made of it
    finished  the engine's part, None if the gateway answered by itself
    """

    number: int
    replica: int
    request: Request
    finished: Finished | None
    started_ms: int
    ended_ms: int
    header_ms: int
    upstream_ms: int


class Gateway:
    """Collects what replicas have answered and gives it out in order of the end, as a log is written."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._pending: list[tuple[float, int, int, Request, Finished | None]] = []
        self._pushed = 0
        self._numbered = 0

    def answered(self, replica: int, finished: Finished) -> None:
        """An engine has answered a request."""
        back_s = 0.0006 + self._rng.expovariate(1 / 0.0005)
        self._push(finished.finished_at + back_s, replica, finished.request, finished)

    def refused(self, replica: int, request: Request) -> None:
        """The gateway itself has answered a request."""
        self._push(request.sent_at + 0.001 + self._rng.expovariate(1 / 0.001), replica, request, None)

    def ended_by(self, at: float) -> Iterator[Exchange]:
        """The exchanges that ended by then and were not given out yet."""
        while self._pending and self._pending[0][0] <= at:
            ended_at, _, replica, request, finished = heappop(self._pending)
            self._numbered += 1
            started = round(request.sent_at * 1000)
            ended = max(started + 1, round(ended_at * 1000))
            header = upstream = 0
            if finished is not None:
                header = max(1, round((finished.first_token_at - request.sent_at) * 1000))
                upstream = ended - started - self._rng.choice((0, 0, 1))
            yield Exchange(
                self._numbered, replica, request, finished, started, ended, header, max(upstream, header)
            )

    def _push(self, at: float, replica: int, request: Request, finished: Finished | None) -> None:
        self._pushed += 1
        heappush(self._pending, (at, self._pushed, replica, request, finished))

"""A service's engines, calibrated from its recorded requests, and what they would have done."""

from dataclasses import dataclass, replace

import numpy as np

from tracemortem.replay import engine
from tracemortem.replay.law import Exposure, exposure, fitted
from tracemortem.replay.recorded import Bools, Floats, Ints, Requests

_PASSES = 2  # of fits, each of which corrects the one before
BIN_S = 300.0  # of the speed index
_ENOUGH = 20  # requests that a speed is told from
NOISE = 0.06  # what the speed index of a sound engine strays by, on real runs
_LONG_AGO = -1e18
NONE_LONG = 1 << 60  # tokens: no prompt has so many


@dataclass(frozen=True)
class Limits:
    """What an engine is configured to.

    budget   tokens a step computes at most
    running  requests that run at once
    blocks   of KV memory, each of block tokens
    chunk    tokens of one prompt a step computes at most; None: as many as of all
    long_from, long_most  at once, so many prompts are computed of which that many tokens are not cached
    """

    budget: int
    running: int
    blocks: int
    block: int
    chunk: int | None = None
    long_from: int = NONE_LONG
    long_most: int = 1


@dataclass(frozen=True)
class Model:
    """Calibrated engines.

    law       of a step, shape (5,), see engine.run
    slowness  of a replica (row) in each five minutes (column) since the origin: 1 as usual, 2 twice as slow
    """

    limits: Limits
    law: Floats
    slowness: Floats

    def sound(self) -> "Model":
        """The same where no replica was ever slower than usual."""
        return replace(self, slowness=np.minimum(self.slowness, 1.0))

    def fits(self, made: Requests) -> Bools:
        """Whether an empty engine's memory holds the prompt and the whole answer; shape (n,)."""
        blocks: Bools = -(-(made.prompt + made.output) // self.limits.block) <= self.limits.blocks
        return blocks

    def alone_s(self, made: Requests) -> Floats:
        """Seconds from schedule to last token of each, alone in an engine as fast as usual; shape (n,)."""
        limits, computed, decodes = self.limits, made.prompt - made.cached, made.output - 1
        steps = np.ceil(computed / min(limits.chunk or limits.budget, limits.budget)) + decodes
        context = decodes * made.prompt + decodes * (decodes - 1) / 2
        square = (made.prompt**2 - made.cached**2) / 2
        total: Floats = np.column_stack((steps, computed, decodes, context, square)) @ self.law
        return total

    def times(self, made: Requests, order: Floats | None = None, patience: Floats | None = None) -> Floats:
        """When each request would have been scheduled, have had its first token and its last; shape (n, 3).

        order     who waits goes by the smallest of these, shape (n,); None: first come, first served
        patience  s, after which it leaves the queue, shape (n,); None: never
        returns   nan where it left, or fits into no engine's memory
        """
        limits = self.limits
        order = made.arrival if order is None else order
        patience = np.full(len(order), np.inf) if patience is None else patience
        times = np.full((len(made.prompt), 3), np.nan)
        slow_from = np.concatenate(([_LONG_AGO], np.arange(1, self.slowness.shape[1]) * BIN_S))
        for number in range(made.replicas):
            own = np.flatnonzero(made.replica == number)
            own = own[np.argsort(made.arrival[own], kind="stable")]
            found, preempted = np.empty((len(own), 3)), np.empty(len(own), np.int64)
            engine.run(
                made.arrival[own], made.prompt[own], made.cached[own], made.output[own], order[own],
                patience[own], self.law, slow_from, self.slowness[number], limits.budget,
                limits.chunk or limits.budget, limits.long_from, limits.long_most,
                limits.running, limits.blocks, limits.block, found, preempted,
            )  # fmt: skip
            times[own] = found
        return times


def calibrated(made: Requests, limits: Limits, used: Bools | None = None) -> Model:
    """The engines that best explain how long the recorded requests took.

    used   the requests whose times may be looked at; all of them are load on the others

    Replicas share one law; where one was slower than in the baseline for minutes together, that is its
    slowness. Then the law's terms for decoding are scaled by how the replayed decoding differs from the
    recorded, all of it together: the median request knows nothing of steps that stall.
    """
    used = np.ones(len(made.prompt), dtype=bool) if used is None else used
    met = exposure(made, limits.budget)
    cells = _Cells(made, met, used)
    slow = np.ones(len(made.prompt))
    for _ in range(_PASSES):
        law = fitted(met, slow, used, limits.budget)
        slowness = cells.slowness(law)
        slow = slowness.reshape(-1)[cells.cell]
    is_told = np.abs(slowness - 1) > NOISE
    model = Model(limits, law, np.where(is_told, slowness, 1.0))
    for _ in range(_PASSES):
        times = model.times(made)
        took = times[:, 2] - times[:, 1]
        told = used & (made.output > 1) & (met.decode_s > 0) & (took > 0)
        if not told.any():
            break
        ratio = float(met.decode_s[told].sum() / took[told].sum())
        model = replace(model, law=model.law * np.array([ratio, 1.0, ratio, ratio, 1.0]))
    return model


class _Cells:
    """Replicas by five minutes, and the requests in each, by the middle of their decoding.

    cell   of each request, shape (n,)
    """

    def __init__(self, made: Requests, met: Exposure, used: Bools) -> None:
        number = np.maximum((made.first + made.last) / 2 // BIN_S, 0).astype(np.int64)
        self._shape = made.replicas, int(number.max()) + 1
        self._met, self._used = met, used & (met.decode_s > 0)
        self._is_before = made.is_before
        self.cell: Ints = made.replica * self._shape[1] + number

    def slowness(self, law: Floats) -> Floats:
        """Recorded over predicted time of decoding, relative to the baseline's; 1 where too few tell it.

        Sums over sums, the baseline's too: a few steps that stall lift them, and no median.
        """
        predicted = self._met.decode @ law
        usable = self._used & (predicted > 0)
        took, wanted, count = (
            np.bincount(self.cell[usable], weights, self._shape[0] * self._shape[1])
            for weights in (self._met.decode_s[usable], predicted[usable], None)
        )
        usual = usable & self._is_before
        usually = self._met.decode_s[usual].sum() / predicted[usual].sum() if usual.any() else 1.0
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = took / wanted / usually
        return np.where(count >= _ENOUGH, ratio, 1.0).reshape(self._shape)

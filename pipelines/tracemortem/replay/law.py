"""How long a step of the engine lasts, told from the times of requests alone."""

from dataclasses import dataclass

import numpy as np

from tracemortem.replay.least_squares import robust
from tracemortem.replay.recorded import Bools, Floats, Requests

_LONG = 2  # steps of prefill, from which on its time is that of computing and not of waiting for a step's end
_TINY_S = 1e-9


@dataclass(frozen=True)
class Exposure:
    """What a request met from its first token to its last, and from its schedule to its first token.

    decode, prefill      columns as engine.run's law: `decode @ law` is the time predicted; shape (n, 5)
    decode_s, prefill_s  the time that it took
    """

    decode: Floats
    decode_s: Floats
    prefill: Floats
    prefill_s: Floats


def exposure(made: Requests, budget: int) -> Exposure:
    """What every request met, by the others on its replica; budget: tokens a step computes at most.

    Tokens of a prompt count as computed evenly between its schedule and its first token; contexts grow
    evenly from there to the last.
    """
    count = len(made.prompt)
    decode, prefill = np.full((count, 5), np.nan), np.full((count, 5), np.nan)
    for number in range(made.replicas):
        own = made.replica == number
        if own.any():
            decode[own], prefill[own] = _replica(made.only(own), budget)
    return Exposure(decode, made.last - made.first, prefill, made.first - made.scheduled)


def fitted(met: Exposure, slow: Floats, used: Bools, budget: int) -> Floats:
    """The law, shape (5,): what best explains the decoding of the requests used, and long prefills.

    slow   how many times as long as usual steps lasted for each request, shape (n,)
    Errors count relative to the time taken. Short prefills are left out: they wait for a step's end.
    """
    with np.errstate(invalid="ignore"):
        decodes = used & (met.decode_s > 0) & (met.decode[:, 0] > 0) & np.isfinite(met.decode).all(axis=1)
        prefills = used & (met.prefill_s > 0) & (met.prefill[:, 1] > _LONG * budget)
    prefills &= np.isfinite(met.prefill).all(axis=1)
    rows = np.vstack(
        (
            met.decode[decodes] * (slow[decodes] / met.decode_s[decodes])[:, None],
            met.prefill[prefills] * (slow[prefills] / met.prefill_s[prefills])[:, None],
        )
    )
    return robust(rows, np.ones(len(rows)))


def _replica(made: Requests, budget: int) -> tuple[Floats, Floats]:
    prompt, cached, output = (values.astype(np.float64) for values in (made.prompt, made.cached, made.output))
    to_first, to_last = (made.scheduled, made.first), (made.first, made.last)
    prefill_s = np.maximum(made.first - made.scheduled, _TINY_S)
    decode_s = np.maximum(made.last - made.first, _TINY_S)
    flat = np.zeros_like(prompt)
    tokens = Load(*to_first, (prompt - cached) / prefill_s, flat)
    square = Load(*to_first, (prompt**2 - cached**2) / 2 / prefill_s, flat)
    decoding = Load(*to_last, np.ones_like(prompt), flat)
    context = Load(*to_last, prompt, (output - 1) / decode_s)
    met = []
    for low, high, steps in (
        (*to_last, output - 1),
        (*to_first, np.maximum(1.0, tokens.between(*to_first) / budget)),
    ):
        a_second = steps / np.maximum(high - low, _TINY_S)
        met.append(
            np.column_stack(
                (
                    steps,
                    tokens.between(low, high),
                    a_second * decoding.between(low, high),
                    a_second * context.between(low, high),
                    square.between(low, high),
                )
            )
        )
    return met[0], met[1]


class Load:
    """The sum over requests of something that each carries from start to end: level, growing by slope a s."""

    def __init__(self, start: Floats, end: Floats, level: Floats, slope: Floats) -> None:
        at = np.concatenate((start, end))
        jump = np.concatenate((level, -(level + slope * (end - start))))
        bend = np.concatenate((slope, -slope))
        order = np.argsort(at, kind="stable")
        self._at, self._slope = at[order], np.cumsum(bend[order])
        gap = np.diff(self._at)
        grown = np.concatenate(([0.0], np.cumsum(self._slope[:-1] * gap)))
        self._level = np.cumsum(jump[order]) + grown
        area = self._level[:-1] * gap + 0.5 * self._slope[:-1] * gap**2
        self._area = np.concatenate(([0.0], np.cumsum(area)))

    def between(self, low: Floats, high: Floats) -> Floats:
        """Its integral over spans of time."""
        return self._until(high) - self._until(low)

    def _until(self, when: Floats) -> Floats:
        last = np.clip(np.searchsorted(self._at, when, side="right") - 1, 0, len(self._at) - 1)
        since = np.maximum(when - self._at[last], 0.0)
        found: Floats = self._area[last] + self._level[last] * since + 0.5 * self._slope[last] * since**2
        return found

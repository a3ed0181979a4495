"""How many tokens an engine's KV memory holds, told from how full it was and who was in it."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracemortem.replay import jackknife
from tracemortem.replay.law import Load
from tracemortem.replay.least_squares import robust
from tracemortem.replay.recorded import Bools, Floats, Requests

_ENOUGH = 20  # scrapes that a size is told from
_MOMENT_S = 0.5  # over which what is held is averaged: a scrape is no sharper against spans
_TINY_S = 1e-9
_APART_S = 600.0  # without a request: those between are of a time that was not asked for
_STAY = 0.99  # quantile of the time in the engine, after which hardly any is left of those not asked for


@dataclass(frozen=True)
class Capacity:
    """Tokens of KV memory of one engine, with a 95 % interval."""

    tokens: float
    low: float
    high: float


def capacity(made: Requests, seen: pl.DataFrame, full: float) -> Capacity | None:
    """The size that best explains how full the engines were; None where too few scrapes tell it.

    seen   replica (as in made), at_s since the same origin as the requests' times, usage_ratio
    full   usage from which on scrapes are left out: who was preempted then holds nothing, and no span tells

    Scrapes of times of which not all requests are among these are left out as well.

    Usage is so much a token that a request holds alone and, as requests share those they found in the cache,
    less a token of these: both by robust least squares, errors growing with the root of what is held. The
    interval is a jackknife's over fifths of the minutes; it is wide where the share cached never varies.
    """
    seen = seen.filter(pl.col("usage_ratio").is_between(0, full, closed="none"))
    seen = seen.filter(_is_all_known(made, seen["at_s"].to_numpy()))
    held = np.zeros((seen.height, 2))
    at, replica = seen["at_s"].to_numpy(), seen["replica"].to_numpy()
    for number in range(made.replicas):
        held[replica == number] = _held(made.only(made.replica == number), at[replica == number])
    is_busy = held[:, 0] > 0
    usage = np.sqrt(seen["usage_ratio"].to_numpy()[is_busy])
    rows = held[is_busy] / usage[:, None]
    if len(rows) < _ENOUGH:
        return None
    groups = jackknife.group(at[is_busy])
    a_token = robust(rows, usage)[0]
    without = [robust(rows[groups != one], usage[groups != one])[0] for one in range(jackknife.GROUPS)]
    if min(a_token, *without) <= 0:
        return None
    spread = jackknife.half_width([1 / one for one in without])
    tokens = float(1 / a_token)
    return Capacity(tokens, max(tokens - spread, 0.0), tokens + spread)


def _is_all_known(made: Requests, at: Floats) -> Bools:
    """Whether all that ran at each time is among the requests: before the first and after the last it is not.

    Nor in a gap, as between the baseline and an incident of another day, and shortly after it.
    """
    came = np.sort(made.arrival)
    is_gap = np.diff(came) > _APART_S
    begins, ends = came[np.append(True, is_gap)], came[np.append(is_gap, True)]
    stay_s = float(np.quantile(made.last - made.arrival, _STAY))
    place = np.searchsorted(begins, at, side="right") - 1
    known: Bools = (place >= 0) & (at >= begins[place] + stay_s) & (at <= ends[place])
    return known


def _held(made: Requests, at: Floats) -> Floats:
    """Tokens that requests of one replica held then alone, and of those found in the cache; shape (k, 2)."""
    cached, output = made.cached.astype(np.float64), made.output.astype(np.float64)
    own = made.prompt - cached
    prefill_s = np.maximum(made.first - made.scheduled, _TINY_S)
    decode_s = np.maximum(made.last - made.first, _TINY_S)
    loads = (
        (Load(made.scheduled, made.first, np.zeros_like(own), own / prefill_s), 0),
        (Load(made.first, made.last, own, (output - 1) / decode_s), 0),
        (Load(made.scheduled, made.last, cached, np.zeros_like(own)), 1),
    )
    held = np.zeros((len(at), 2))
    for load, column in loads:
        held[:, column] += load.between(at - _MOMENT_S / 2, at + _MOMENT_S / 2) / _MOMENT_S
    return held

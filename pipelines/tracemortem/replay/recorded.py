"""The requests that a replay starts from, as arrays, and what of their prompts was computed."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracemortem.replay.least_squares import robust

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
NUMBER = pl.col("replica").rank("dense").cast(pl.Int64) - 1  # of each replica of a frame, by its name


@dataclass(frozen=True)
class Requests:
    """Requests of one service by arrival at the engine; every array has shape (n,).

    replica    its number, from 0
    arrival    s, when it came to the engine's queue; scheduled, first (token), last: what was recorded then
    prompt     tokens; cached of them were not computed
    output     tokens
    started    s, when it came to the service
    total      s, latency as its client saw it
    client     number of its address among all, in their order as text; -1 where it is not known
    is_before  whether it came in the baseline; is_during: in the incident
    """

    replica: Ints
    arrival: Floats
    scheduled: Floats
    first: Floats
    last: Floats
    prompt: Ints
    cached: Ints
    output: Ints
    started: Floats
    total: Floats
    client: Ints
    is_before: Bools
    is_during: Bools

    @property
    def rest(self) -> Floats:
        """Seconds of the latency that are not the engine's."""
        return self.total - (self.last - self.arrival)

    @property
    def replicas(self) -> int:
        """How many replicas there are."""
        return int(self.replica.max()) + 1

    def only(self, kept: Bools) -> "Requests":
        """Some of them."""
        return replace(self, **{name: values[kept] for name, values in vars(self).items()})


def by_arrival(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of a frame for requests in the order that these have; what more it holds stays with them."""
    queued_s = pl.col("arrival_s") + pl.col("front_s")
    return frame.sort(queued_s, "started_s", "prompt_tokens", "output_tokens", maintain_order=True)


def requests(frame: pl.DataFrame) -> Requests:
    """Requests of which everything is known but how much of the prompt was cached.

    frame   replica, arrival_s, queue_s, ttft_s, engine_s, prompt_tokens, cached_tokens, output_tokens,
            started_s, duration_s, client_ip, phase; arrival_s to the engine's process, ttft_s and engine_s
            from then on, front_s of it before its queue
    """
    frame = by_arrival(frame)
    frame = frame.with_columns(arrival_s=pl.col("arrival_s") + pl.col("front_s"), came_s="arrival_s")
    client = (pl.col("client_ip").rank("dense").cast(pl.Int64) - 1).fill_null(-1)
    numbers = {name: frame[name].cast(pl.Float64).to_numpy() for name in frame.columns if name.endswith("_s")}
    prompt = frame["prompt_tokens"].cast(pl.Int64).to_numpy()
    cached = frame["cached_tokens"].fill_null(0).cast(pl.Int64).to_numpy()
    return Requests(
        replica=frame.select(NUMBER).to_series().to_numpy(),
        arrival=numbers["arrival_s"],
        scheduled=numbers["arrival_s"] + numbers["queue_s"],
        first=numbers["came_s"] + numbers["ttft_s"],
        last=numbers["came_s"] + numbers["engine_s"],
        prompt=prompt,
        cached=np.clip(cached, 0, prompt - 1),
        output=frame["output_tokens"].cast(pl.Int64).to_numpy(),
        started=numbers["started_s"],
        total=numbers["duration_s"],
        client=frame.select(client).to_series().to_numpy(),
        is_before=(frame["phase"] == "baseline").fill_null(value=False).to_numpy(),
        is_during=(frame["phase"] == "during").fill_null(value=False).to_numpy(),
    )


def with_inferred_cache(made: Requests, counted: pl.DataFrame, block: int) -> Requests:
    """The requests with what of each prompt was computed, told from how long its prefill took.

    counted  by the engines: replica, minute since the same origin as the requests' times, and the tokens of
             prompt computed in it
    block    tokens a block holds: only whole blocks are cached

    What a minute's prefills took together is so much a request and so much a computed token; the two by
    robust least squares over replicas and minutes. Time in which several are computed is shared among them:
    counted for each, it took a law of prefilling with it that was wrong six times over. Where the engine was
    slow for another reason, it is taken for more computed: the replay then does not fit, and says so.
    """
    took = _own_share(made)
    frame = pl.DataFrame(
        {"replica": made.replica, "minute": (made.first // 60).astype(np.int64), "took": took}
    )
    pairs = (
        frame.group_by("replica", "minute", maintain_order=True)
        .agg(pl.len().alias("count"), pl.col("took").sum())
        .join(counted, on=["replica", "minute"], maintain_order="left")
        .filter(pl.col("took") > 0)
    )
    if pairs.is_empty():
        return made
    weight = 1 / np.sqrt(pairs["took"].to_numpy())
    rows = pairs.select("count", "tokens").to_numpy().astype(np.float64)
    each, a_token = robust(rows * weight[:, None], pairs["took"].to_numpy() * weight)
    if a_token <= 0:
        return made
    found = made.prompt - np.clip((took - each) / a_token, 1, made.prompt)
    return replace(made, cached=np.clip(found // block * block, 0, made.prompt - 1).astype(np.int64))


def _own_share(made: Requests) -> Floats:
    """Seconds from each request's schedule to its first token, those that others share counted in part."""
    own_s = np.zeros(len(made.prompt))
    for number in range(made.replicas):
        of = np.flatnonzero(made.replica == number)
        start, end = made.scheduled[of], made.first[of]
        at = np.concatenate((start, end))
        order = np.argsort(at, kind="stable")
        at, computed = at[order], np.cumsum(np.repeat((1, -1), len(of))[order])
        clock = np.concatenate(([0.0], np.cumsum(np.diff(at) / np.maximum(computed[:-1], 1))))
        own_s[of] = clock[np.searchsorted(at, end)] - clock[np.searchsorted(at, start)]
    return own_s

"""Which blocks of prompts are the same, and how large a prefix cache must be to find them again."""

from dataclasses import dataclass

import numba
import numpy as np
import polars as pl

from tracemortem.replay.recorded import Bools, Ints, Requests

NEVER = 1 << 60  # blocks: what no cache finds, as it was not there before


@dataclass(frozen=True)
class Prefixes:
    """Prompts and what of each a prefix cache finds.

    cache_blocks  so many of their blocks the cache of one replica holds
    found         tokens of each prompt that it finds; shape (n,)
    """

    prompts: "Prompts"
    cache_blocks: int
    found: Ints

    def only(self, kept: Bools, made: Requests) -> "Prefixes":
        """Those of some requests, made, with what the cache finds if the others never came."""
        return prefixes(self.prompts.only(kept), made, self.cache_blocks)


@dataclass(frozen=True)
class Prompts:
    """The blocks of prompts, one prompt after the other.

    blocks       numbers, equal ones for the same tokens with the same before them; shape (total,)
    begins       where each prompt's blocks begin, and past the last; shape (n + 1,)
    size_tokens  tokens a block holds
    """

    blocks: Ints
    begins: Ints
    size_tokens: int

    def only(self, kept: Bools) -> "Prompts":
        """Those of some requests."""
        counts = np.diff(self.begins)
        blocks = self.blocks[np.repeat(kept, counts)]
        return Prompts(blocks, _begins(counts[kept]), self.size_tokens)


def prompts(hashes: pl.Series, size_tokens: int) -> Prompts:
    """The prompts of requests by the hashes of their blocks, a list for each request."""
    distinct = hashes.explode(empty_as_null=False).rank("dense").cast(pl.Int64) - 1
    return Prompts(distinct.to_numpy(), _begins(hashes.list.len().cast(pl.Int64).to_numpy()), size_tokens)


def prefixes(asked: Prompts, made: Requests, cache_blocks: int) -> Prefixes:
    """What a cache of so many blocks a replica finds of these requests' prompts."""
    found = cached_tokens(asked, depths(asked, made.replica), made.prompt, cache_blocks)
    return Prefixes(asked, cache_blocks, found)


def hits(same: Prefixes, made: Requests) -> tuple[float, float]:
    """Share of the prompts' tokens that the cache finds, before the incident and in it."""
    before, during = (
        float(same.found[phase].sum() / max(int(made.prompt[phase].sum()), 1))
        for phase in (made.is_before, made.is_during)
    )
    return before, during


def depths(asked: Prompts, replica: Ints) -> Ints:
    """Of each block, how many blocks its replica's cache must hold to find it, and those before it, again.

    replica   of each request; requests are in order of arrival
    returns   shape of asked.blocks; never falls within a prompt

    The least recently used block is evicted first, of one prompt the last block first: so each cache holds
    all that a smaller one does, and one pass over the requests tells all sizes (Mattson and others, IBM
    Systems Journal 9(2), 1970). A block counts as cached once its request has come, whether or not it is
    computed by then; blocks of an answer count from when they come back in a prompt.
    """
    found = np.empty(len(asked.blocks), np.int64)
    counts = np.diff(asked.begins)
    of_block = np.repeat(replica, counts)
    for number in np.unique(replica):
        own = of_block == number
        blocks = np.unique(asked.blocks[own], return_inverse=True)[1]
        deep = np.empty(len(blocks), np.int64)
        _stacked(blocks, _begins(counts[replica == number]), deep)
        found[own] = deep
    return found


def cached_tokens(asked: Prompts, deep: Ints, prompt: Ints, blocks: int) -> Ints:
    """Of each prompt the tokens that a cache of so many blocks finds: whole blocks, never the last token.

    deep   what depths says of them
    """
    reached = np.concatenate(([0], np.cumsum(deep <= blocks)))
    hits = np.diff(reached[asked.begins])
    size = asked.size_tokens
    found: Ints = np.minimum(hits, (prompt - 1) // size) * size
    return found


def _begins(counts: Ints) -> Ints:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))


@numba.njit(nogil=True, cache=True)
def _stacked(blocks: np.ndarray, begins: np.ndarray, deep: np.ndarray) -> None:
    """The depths of one replica's blocks; blocks are numbered from 0 without a gap."""
    latest = np.zeros(blocks.size, np.int64)  # use of each block, from 1; 0: none yet
    counted = np.zeros(blocks.size + 1, np.int64)  # a Fenwick tree: of uses, those that are a block's latest
    seen = 0
    use = 0
    for request in range(begins.size - 1):
        needed = 0
        for at in range(begins[request], begins[request + 1]):
            then = latest[blocks[at]]
            if then == 0:
                needed = NEVER
            elif needed < NEVER:
                used_since = seen
                before = then - 1
                while before > 0:
                    used_since -= counted[before]
                    before &= before - 1
                needed = max(needed, used_since)
            deep[at] = needed
        for back in range(begins[request + 1] - begins[request]):
            block = blocks[begins[request + 1] - 1 - back]
            use += 1
            if latest[block] == 0:
                seen += 1
            else:
                _count(counted, latest[block], -1)
            latest[block] = use
            _count(counted, use, 1)


@numba.njit(nogil=True, cache=True)
def _count(counted: np.ndarray, use: int, by: int) -> None:
    while use < counted.size:
        counted[use] += by
        use += use & -use

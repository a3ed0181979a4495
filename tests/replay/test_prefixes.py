"""What a prefix cache of so many blocks finds: as a plain one that evicts the least recently used does."""

import json
from collections import OrderedDict
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from worlds import LAW, LIMITS, served

from tracemortem.replay.model import Model
from tracemortem.replay.prefixes import NEVER, cached_tokens, depths, prefixes, prompts
from tracemortem.replay.recorded import requests
from tracemortem.replay.resets import World


def plainly(requests, sizes):
    """Blocks of each prompt that are found at its beginning, by a cache of so many blocks a replica."""
    found = {}
    for size in sizes:
        caches: dict[int, OrderedDict[int, None]] = {}
        found[size] = []
        for replica, hashes in requests:
            cache = caches.setdefault(replica, OrderedDict())
            hits = next((place for place, one in enumerate(hashes) if one not in cache), len(hashes))
            found[size].append(hits)
            for one in reversed(hashes):
                cache[one] = None
                cache.move_to_end(one)
                if len(cache) > size:
                    cache.popitem(last=False)
    return found


def compiled(requests, sizes):
    asked = prompts(pl.Series([hashes for _, hashes in requests], dtype=pl.List(pl.UInt64)), 1)
    deep = depths(asked, np.array([replica for replica, _ in requests]))
    endless = np.full(len(requests), NEVER)
    return {size: cached_tokens(asked, deep, endless, size).tolist() for size in sizes}


@pytest.mark.parametrize("seed", range(3))
def test_random_prompts_are_found_as_a_plain_cache_finds_them(seed):
    random = np.random.default_rng(seed)
    requests = []
    for _ in range(400):
        kind, length = int(random.integers(12)), int(random.integers(0, 9))
        requests.append((int(random.integers(2)), [100 * kind + place for place in range(length)]))
    sizes = (1, 2, 5, 17, 40, 1000)
    assert compiled(requests, sizes) == plainly(requests, sizes)


@pytest.mark.parametrize("name", ["conversation", "synthetic"])
def test_a_public_trace_is_found_as_a_plain_cache_finds_it(shared, name):
    path = shared / f"corpus/llm_traces/mooncake/FAST25-release/traces/{name}_trace.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    requests = [(number % 2, line["hash_ids"]) for number, line in enumerate(lines)]
    sizes = (100, 1000, 5000, 20_000, 1 << 30)
    found = compiled(requests, sizes)
    assert found == plainly(requests, sizes)
    totals = [sum(found[size]) for size in sizes]
    assert totals == sorted(set(totals))  # each size finds more than the smaller ones


def test_only_whole_blocks_are_cached_and_never_the_last_token():
    asked = prompts(pl.Series([[7, 8, 9], [7, 8, 9], [7, 8, 9]], dtype=pl.List(pl.UInt64)), 16)
    deep = depths(asked, np.zeros(3, np.int64))
    assert cached_tokens(asked, deep, np.array([48, 48, 41]), 3).tolist() == [0, 32, 32]


def test_of_some_requests_the_others_have_left_nothing_in_the_cache():
    hashes = pl.Series([[1, 2], [3, 4], [], [1, 2]], dtype=pl.List(pl.UInt64))
    asked, replica = prompts(hashes, 1), np.zeros(4, np.int64)
    kept = np.array([True, False, True, True])
    assert depths(asked, replica).tolist() == [NEVER, NEVER, NEVER, NEVER, 3, 4]
    assert depths(asked.only(kept), replica[kept]).tolist() == [NEVER, NEVER, 1, 2]


def test_where_requests_are_left_out_so_is_what_they_evicted():
    """Two prompts in turn, and others between that evict them from a cache of four blocks."""
    count = 400
    made = requests(served(a_second=0.2))
    made = made.only(np.arange(len(made.prompt)) < count)
    made = replace(
        made, replica=np.zeros(count, np.int64), prompt=np.full(count, 100), cached=np.zeros(count, np.int64)
    )
    polluter = np.arange(count) % 3 == 2
    hashes = [
        [9000 + 4 * n + k for k in range(4)] if n % 3 == 2 else [10 * (n % 3), 10 * (n % 3) + 1]
        for n in range(count)
    ]
    asked = prompts(pl.Series(hashes, dtype=pl.List(pl.UInt64)), 16)
    world = World(Model(LIMITS, LAW, np.ones((1, 1))), made, made.rest, prefixes(asked, made, 4))
    assert world.prefixes.found.sum() == 0
    there = world.without(polluter)
    assert there.made.cached[2:].tolist() == [32] * (len(there.made.cached) - 2)
    assert replace(world, prefixes=None).without(polluter).made.cached.sum() == 0

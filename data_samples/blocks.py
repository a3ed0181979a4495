"""One replica's KV memory: a pool of blocks, shared prefixes kept in it, and who must leave when it is full.

A prefix that requests share (a system prompt, a client's matter, a document) is an entry: its blocks in
order. Entries that no running request holds are idle; when free blocks run out, the one idle longest gives
up blocks from its tail, a round at a time, so that what is left of it is still a usable prefix (as in
vLLM's LRU). Sets of blocks are Python integers used as bit masks: block b is bit b.
"""

from collections import OrderedDict
from dataclasses import dataclass, field


@dataclass(slots=True)
class Entry:
    """A shared prefix: the blocks of it that are resident, in order, and how many requests hold it."""

    key: str
    blocks: list[int] = field(default_factory=list)
    mask: int = 0
    holders: int = 0

    def append(self, block: int) -> None:
        """One block more of the prefix is resident."""
        self.blocks.append(block)
        self.mask |= 1 << block


class Pool:
    """The blocks of one replica.

    size          blocks in the pool
    run_blocks    free space in shorter runs than this is fragmented; a power of two
    round_blocks  blocks that one round of eviction takes from an idle entry
    """

    def __init__(self, size: int, run_blocks: int, round_blocks: int) -> None:
        self.size = size
        self.run_blocks = run_blocks
        self.round_blocks = round_blocks
        self.pinned = 0  # mask of the blocks that running requests use
        self.evictions = 0  # rounds, since the start
        self.reserved = 0  # blocks promised to running requests and not yet taken
        self._everything = (1 << size) - 1
        self._free = list(range(size - 1, -1, -1))
        self._entries: dict[str, Entry] = {}
        self._idle: OrderedDict[str, Entry] = OrderedDict()
        self._idle_blocks = 0

    def hold(self, key: str) -> Entry:
        """The entry of that name, now held by one request more; empty if nothing of it is resident."""
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = Entry(key)
        elif entry.holders == 0:
            del self._idle[key]
            self._idle_blocks -= len(entry.blocks)
            self.pinned |= entry.mask
        entry.holders += 1
        return entry

    def let_go(self, entry: Entry) -> None:
        """One request less holds the entry; with none left it is idle, and the last to be evicted."""
        entry.holders -= 1
        if entry.holders:
            return
        if not entry.blocks:
            del self._entries[entry.key]
            return
        self._idle[entry.key] = entry
        self._idle_blocks += len(entry.blocks)
        self.pinned &= ~entry.mask

    def has_room(self, blocks: int) -> bool:
        """Whether so many blocks can be promised: free or idle, and not promised to others."""
        return blocks <= len(self._free) + self._idle_blocks - self.reserved

    def take(self, count: int) -> tuple[list[int], int]:
        """Blocks for a running request, pinned, and the rounds of eviction it took to have them free."""
        rounds = 0
        while len(self._free) < count:
            self._evict()
            rounds += 1
        taken = self._free[-count:]
        del self._free[-count:]
        for block in taken:
            self.pinned |= 1 << block
        return taken, rounds

    def give_back(self, blocks: list[int]) -> None:
        """Blocks that one request alone used become free."""
        for block in blocks:
            self.pinned ^= 1 << block
        self._free.extend(blocks)

    def _evict(self) -> None:
        entry = next(iter(self._idle.values()))
        leaving = entry.blocks[-self.round_blocks :]
        del entry.blocks[-self.round_blocks :]
        for block in leaving:
            entry.mask ^= 1 << block
        self._free.extend(leaving)
        self._idle_blocks -= len(leaving)
        self.evictions += 1
        if not entry.blocks:
            del self._idle[entry.key], self._entries[entry.key]

    def fragmentation_ratio(self) -> float:
        """Share of the unpinned blocks that lie in runs shorter than run_blocks between pinned ones."""
        unpinned = self._everything & ~self.pinned
        in_runs = unpinned
        step = 1
        while step < self.run_blocks:  # a bit survives where a whole run begins
            in_runs &= in_runs >> step
            step *= 2
        step = 1
        while step < self.run_blocks:  # and spreads again over the run
            in_runs |= in_runs << step
            step *= 2
        return 1 - in_runs.bit_count() / unpinned.bit_count()

    def pinned_blocks(self) -> int:
        """Blocks that running requests use."""
        return self.pinned.bit_count()

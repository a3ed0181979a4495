"""The fewest address prefixes that hold the guilty and spare the innocent."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Prefix = tuple[int, int]


def cover(keys: NDArray[np.uint64], bits: int, gain: Floats, loss: Floats, per_prefix: float) -> list[Prefix]:
    """The cheapest cover, as (first address, prefix length), in the order of the addresses.

    keys        different addresses, ascending, each a number of `bits` bits (at most 64)
    gain, loss  guilty and innocent weight of each, 0 or more
    per_prefix  what each prefix costs, above 0; guilty weight left out and innocent weight taken in cost
                themselves

    Dynamic programming over the binary trie of the addresses: a node is taken whole, covered by what covers
    its halves, or left out. The empty space between two networks belongs to neither: a node is not taken
    where its guilty addresses lie so unevenly in it that two smaller prefixes describe them in fewer bits,
    the second prefix included (minimum description length, Rissanen 1978).
    """
    if not keys.size:
        return []
    return _Trie(keys, bits, gain, loss, per_prefix).best(0, keys.size)[1]


@dataclass(frozen=True)
class _Guilty:
    """How many guilty addresses lie somewhere, and the bits that all of them share."""

    number: int
    length: int


class _Trie:
    def __init__(
        self, keys: NDArray[np.uint64], bits: int, gain: Floats, loss: Floats, per_prefix: float
    ) -> None:
        self._keys, self._bits, self._per_prefix = keys, bits, per_prefix
        self._gain, self._loss = (np.concatenate(([0.0], np.cumsum(weight))) for weight in (gain, loss))
        self._guilty = np.flatnonzero(gain > loss)

    def best(self, low: int, high: int) -> tuple[float, list[Prefix]]:
        """Cost and prefixes of the cheapest cover of the addresses low to high - 1, one node of the trie."""
        gain = float(self._gain[high] - self._gain[low])
        loss = float(self._loss[high] - self._loss[low])
        left_out: tuple[float, list[Prefix]] = (gain, [])
        if gain <= self._per_prefix:  # which leaves few nodes to visit, however many addresses there are
            return left_out
        whole = self._per_prefix + loss
        if high - low == 1:
            taken = (whole, [(int(self._keys[low]), self._bits)])
            return min(left_out, taken, key=lambda way: way[0])
        depth = self._shared(low, high - 1)
        middle = self._middle(low, high, depth)
        ways = [left_out]
        halves = self.best(low, middle), self.best(middle, high)
        ways.append((halves[0][0] + halves[1][0], halves[0][1] + halves[1][1]))
        if self._is_even(depth, self._found(low, middle), self._found(middle, high)):
            free = self._bits - depth
            ways.append((whole, [(int(self._keys[low]) >> free << free, depth)]))
        return min(ways, key=lambda way: way[0])

    def _shared(self, first: int, last: int) -> int:
        """How many leading bits two addresses share, and with them all that lie between."""
        return self._bits - (int(self._keys[first]) ^ int(self._keys[last])).bit_length()

    def _middle(self, low: int, high: int, depth: int) -> int:
        """Where the addresses of a node begin whose first bit after the shared ones is set."""
        free = self._bits - depth - 1
        split = np.uint64(int(self._keys[high - 1]) >> free << free)
        return low + int(np.searchsorted(self._keys[low:high], split))

    def _found(self, low: int, high: int) -> _Guilty:
        first, last = np.searchsorted(self._guilty, (low, high))
        if first == last:
            return _Guilty(0, self._bits)
        return _Guilty(int(last - first), self._shared(int(self._guilty[first]), int(self._guilty[last - 1])))

    def _is_even(self, depth: int, left: _Guilty, right: _Guilty) -> bool:
        """Whether one prefix describes the guilty addresses of two halves better than one for each half."""
        if not left.number or not right.number:
            return False  # the half that holds them all describes them better
        together = _description_bits(self._bits - depth, left.number + right.number)
        apart = sum(_description_bits(self._bits - half.length, half.number) for half in (left, right))
        return together - apart <= self._bits + math.log2(
            self._bits
        )  # a prefix more: its bits and its length


def _description_bits(free: int, number: int) -> float:
    """Bits that tell which `number` of the 2**free addresses of a prefix it is (Stirling's formula)."""
    share = number / 2.0**free
    if share >= 1:
        return 0.0
    entropy = -share * math.log2(share) - (1 - share) * math.log2(1 - share)
    return 2.0**free * entropy - 0.5 * math.log2(2 * math.pi * number * (1 - share))

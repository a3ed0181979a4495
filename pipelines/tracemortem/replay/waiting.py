"""Who waits for the engine, the one that goes next on top: binary heaps in compiled code."""

import numba
import numpy as np


@numba.njit(nogil=True, cache=True)
def goes_before(key: np.ndarray, one: int, other: int) -> bool:
    """Whether one has the smaller key, or the same and came first."""
    return key[one] < key[other] or (key[one] == key[other] and one < other)


@numba.njit(nogil=True, cache=True)
def push(heap: np.ndarray, size: int, key: np.ndarray, entry: int) -> int:
    """Add to a binary heap, smallest key first, of two alike the smaller entry; returns its size."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        other = heap[above]
        if goes_before(key, other, entry):
            break
        heap[at] = other
        at = above
    heap[at] = entry
    return size + 1


@numba.njit(nogil=True, cache=True)
def pop(heap: np.ndarray, size: int, key: np.ndarray) -> int:
    """Take the top away; returns the heap's size."""
    size -= 1
    entry = heap[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        other = heap[below]
        if below + 1 < size:
            beside = heap[below + 1]
            if goes_before(key, beside, other):
                below += 1
                other = beside
        if goes_before(key, entry, other):
            break
        heap[at] = other
        at = below
    heap[at] = entry
    return size


@numba.njit(nogil=True, cache=True)
def without_impatient(
    heap: np.ndarray,
    size: int,
    key: np.ndarray,
    arrival: np.ndarray,
    patience: np.ndarray,
    times: np.ndarray,
    now: float,
) -> int:
    """Take those away from the top whose patience has ended; who stands behind is asked once it is there."""
    while size and np.isnan(times[heap[0], 0]) and now - arrival[heap[0]] > patience[heap[0]]:
        size = pop(heap, size, key)
    return size

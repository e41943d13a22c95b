"""How distances rank, for scores: the natural ranking with its ties settled.

Items are ranked by (distance, row in the corpus). Relevance has no say in it: a metric that cannot tell points apart,
such as zero, scores what the order of the rows happens to be worth. (The separation oracle may order ties as it
likes: equal distances have equal parts in its objective.)
"""

from __future__ import annotations

import numba
import numpy as np

from convexmetric.comparisons import Block, ListedBlock

__all__ = ["irrelevant_above"]


def irrelevant_above(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Irrelevant items above each relevant one, for every query of a block.

    Returns
    -------
    above : (m,) int array
        One number for each relevant item, query after query, each query's items from top to bottom.
    start : (B + 1,) int array
        Where each query's numbers start.
    """
    sizes = block.rankings.relevance.n_relevant[block.queries]
    start = np.concatenate([[0], np.cumsum(sizes)])
    above = np.empty(start[-1], dtype=np.int64)
    if isinstance(block, ListedBlock):
        _place_listed(block.values, block.items, block.start, start, above)
    else:
        _place_dense(block.values, block.lists, start, above)
    return above, start


@numba.njit(cache=True, nogil=True)
def _place(x, x_items, z, z_items, above):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Count the irrelevant items (z) above each relevant one (x): sort x, find each z among them by bisection."""
    p = x.size
    order = np.argsort(x, kind="mergesort")
    x, x_items = x[order], x_items[order]
    first = 0
    for i in range(1, p + 1):
        if i == p or x[i] != x[first]:
            if i - first > 1:
                x_items[first:i] = np.sort(x_items[first:i])
            first = i
    above[:] = 0
    for j in range(z.size):
        low, high = 0, p
        while low < high:
            middle = (low + high) // 2
            if x[middle] < z[j] or (x[middle] == z[j] and x_items[middle] < z_items[j]):
                low = middle + 1
            else:
                high = middle
        if low < p:
            above[low] += 1
    for i in range(1, p):
        above[i] += above[i - 1]


@numba.njit(parallel=True, cache=True, nogil=True)
def _place_dense(D, lists, start, above):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    relevant, relevant_start, relevant_stop, irrelevant, irrelevant_start, irrelevant_stop = lists
    for row in numba.prange(len(D)):
        wanted = relevant[relevant_start[row] : relevant_stop[row]]
        unwanted = irrelevant[irrelevant_start[row] : irrelevant_stop[row]]
        distances = D[row]
        _place(distances[wanted], wanted, distances[unwanted], unwanted, above[start[row] : start[row + 1]])


@numba.njit(parallel=True, cache=True, nogil=True)
def _place_listed(values, items, block_start, start, above):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for row in numba.prange(start.size - 1):
        first, last = block_start[row], block_start[row + 1]
        middle = first + start[row + 1] - start[row]
        _place(
            values[first:middle],
            items[first:middle],
            values[middle:last],
            items[middle:last],
            above[start[row] : start[row + 1]],
        )

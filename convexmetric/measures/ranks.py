"""Natural ranking by distance, with ties resolved, for scores.

Items are ranked by (distance, row in the corpus). Relevance does not break ties: the score of a metric that cannot tell
points apart, such as zero, is that of the order of the rows. (The separation oracle may order ties in any way: equal
distances contribute equally to its objective.)
"""

from __future__ import annotations

import numpy as np

from convexmetric.comparisons import Block
from convexmetric.comparisons.relevance import lists_of, places_of
from convexmetric.measures.sorting import ascending, look_up, table_of, take
from convexmetric.numerics.compiling import compiled
from convexmetric.numerics.threads import over_rows


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
    over_rows(_place, len(block), block.values.size, *block.flat, start, above)
    return above, start


@compiled
def _place(begin, end, values, dense, first, lists, start, above):
    """Count the irrelevant items above each relevant one: sort the relevant ones and find the places of the others."""
    for row in range(begin, end):
        positives, negatives = lists_of(lists, row)
        near, far = places_of(dense, first, lists, row)
        # Sorted by item first: a stable sort by distance then keeps ties in that order.
        p, items = positives.size, np.empty(positives.size, dtype=np.int64)
        (by_item, _), count = ascending(1.0 * positives), np.empty(p, dtype=np.int64)
        x, z = take(take(values, near), by_item), take(values, far)
        order, sorted_x = ascending(x)
        for i in range(p):
            items[i], count[i] = positives[by_item[order[i]]], 0
        places = np.empty(z.size, dtype=np.int32)
        look_up(sorted_x, table_of(sorted_x), z, 0.0, places)
        for j in range(negatives.size):
            below = places[j]
            if below > 0 and sorted_x[below - 1] == z[j]:
                below = _among_ties(sorted_x, items, z[j], negatives[j])
            if below < p:
                count[below] += 1
        total = 0
        for i in range(p):
            total += count[i]
            above[start[row] + i] = total


@compiled
def _among_ties(x, items, z, item):
    """Number of relevant items above an irrelevant one, by (distance, item)."""
    low, high = 0, x.size
    while low < high:
        middle = (low + high) // 2
        if x[middle] < z or (x[middle] == z and items[middle] < item):
            low = middle + 1
        else:
            high = middle
    return low

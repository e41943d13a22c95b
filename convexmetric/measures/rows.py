"""Read one query from a block of distances for compiled oracles, and write its coefficients back.

A block is ``values, dense, first, lists``: distances of all queries one after the other, whether each query has a whole
row of the corpus or its listed items only, where each query's values begin, and the lists of items.

Coefficients of the cut, ``<W, dpsi> = sum_x T_x d(q, x)``, overwrite the distances:

    T of relevant item i:    -2/(p n) b_i         (irrelevant items above it)
    T of irrelevant item j:  +2/(p n) v_j         (relevant items below it)
"""

from __future__ import annotations

import numpy as np

from convexmetric.comparisons.relevance import places_of
from convexmetric.measures.sorting import ascending, take
from convexmetric.numerics.compiling import compiled, compiled_in_any_order


@compiled
def query(block, row):
    """Take a query's distances out of a block, and leave zeros there.

    Returns the places of the relevant and of the irrelevant items among the block's values, the distances of the
    irrelevant items, and the order and the sorted distances of the relevant ones; also ``v`` and ``b``, to be filled
    with the ranking in the order of the irrelevant and of the sorted relevant items.
    """
    values, dense, first, lists = block
    near, far = places_of(dense, first, lists, row)
    z = take(values, far)
    order, x = ascending(take(values, near))
    values[first[row] : first[row + 1]] = 0.0
    return (near, far), z, order, x, np.empty(z.size, dtype=np.int64), np.empty(x.size, dtype=np.int64)


@compiled_in_any_order
def overwrite(values, places, z, order, x, v, b, n, loss):
    """Write the coefficients of a query's ranking into the block's values, which are zero; returns its violation.

    ``v`` is in the order of ``z``, ``b`` in that of the sorted distances ``x``. ``z`` may leave out those of the ``n``
    irrelevant items that are below all relevant ones.
    """
    near, far = places
    # The least distance is subtracted before any sum: only differences matter.
    base, scale, weighted = x[0], 2.0 / (x.size * n), 0.0
    for j in range(z.size):
        # Without a branch, which would be mispredicted; no zero times infinity.
        weighted += v[j] * (z[j] - base) if v[j] else 0.0
    for j in range(z.size):
        values[far[j]] = scale * v[j]
    for i in range(x.size):
        weighted -= b[i] * (x[i] - base)
        values[near[order[i]]] = -scale * b[i]
    return loss - scale * weighted

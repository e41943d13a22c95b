"""Read one query from a block of distances for compiled oracles, and write its coefficients back.

A block is ``values, dense, first, lists``: distances of all queries one after the other, whether each query has a whole
row of the corpus or its listed items only, where each query's values begin, and the lists of items.

Coefficients of the cut, ``<W, dpsi> = sum_x T_x d(q, x)``, overwrite the distances:

    T of relevant item i:    -2/(p n) b_i         (irrelevant items above it)
    T of irrelevant item j:  +2/(p n) v_j         (relevant items below it)
"""

from __future__ import annotations

import numpy as np

from convexmetric.comparisons.relevance import lists_of, place
from convexmetric.measures.sorting import ascending
from convexmetric.numerics.compiling import compiled, compiled_in_any_order


@compiled
def query(block, row):
    """Distances of a query's relevant and irrelevant items; order and sorted distances of the relevant ones; v and b.

    ``v`` and ``b`` are to be filled with the ranking, in the order of the irrelevant and of the sorted relevant items.
    """
    values, dense, first, lists = block
    positives, near_at, negatives, far_at = lists_of(first, dense, lists, row)
    x, z = np.empty(positives.size), np.empty(negatives.size)
    for i in range(x.size):
        x[i] = values[place(positives, near_at, dense, i)]
    for j in range(z.size):
        z[j] = values[place(negatives, far_at, dense, j)]
    order = ascending(x)
    return x, z, order, x[order], np.empty(z.size, dtype=np.int64), np.empty(x.size, dtype=np.int64)


@compiled
def overwrite(block, row, x, z, order, sorted_x, v, b, loss):
    """Put the coefficients of a query's ranking in place of its distances; returns its violation."""
    violation = coefficients(x, z, order, sorted_x, v, b, loss)
    values, dense, first, lists = block
    positives, near_at, negatives, far_at = lists_of(first, dense, lists, row)
    values[first[row] : first[row + 1]] = 0.0
    for i in range(x.size):
        values[place(positives, near_at, dense, i)] = x[i]
    for j in range(z.size):
        values[place(negatives, far_at, dense, j)] = z[j]
    return violation


@compiled_in_any_order
def coefficients(x, z, order, sorted_x, v, b, loss):
    """Overwrite the distances x and z by the coefficients of a ranking; returns its violation.

    ``v`` is in the order of ``z``, ``b`` in that of ``sorted_x``.
    """
    p, n = x.size, z.size
    # The least distance is subtracted before any sum: only differences matter.
    base = sorted_x[0]
    scale = 2.0 / (p * n)
    weighted = 0.0
    for j in range(n):
        # Without a branch, which could not be foreseen; no zero times infinity.
        weighted += v[j] * (z[j] - base) if v[j] else 0.0
        z[j] = scale * v[j]
    for i in range(p):
        weighted -= b[i] * (sorted_x[i] - base)
        x[order[i]] = -scale * b[i]
    return loss - scale * weighted

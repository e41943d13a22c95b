"""One query out of a block of distances, for compiled oracles, and its coefficients back into the block.

A block is ``values, dense, first, lists``: distances of all queries one after the other, whether each query has a whole
row of the corpus or its listed items only, where each query's values begin, and the lists of items.

Coefficients of the cut, ``<W, dpsi> = sum_x T_x d(q, x)``, overwrite the distances:

    T of relevant item i:    -2/(p n) b_i         (irrelevant items above it)
    T of irrelevant item j:  +2/(p n) v_j         (relevant items below it)
"""

from __future__ import annotations

import numba
import numpy as np

from convexmetric.measures.sorting import ascending

__all__ = ["coefficients", "overwrite", "query"]


@numba.njit(cache=True, nogil=True)
def query(block, row):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Distances of a query's relevant and irrelevant items; order and sorted distances of the relevant ones; v and b.

    ``v`` and ``b`` are to be filled with the ranking, in the order of the irrelevant and of the sorted relevant items.
    """
    values, dense, first, lists = block
    relevant, relevant_start, relevant_stop, irrelevant, irrelevant_start, irrelevant_stop = lists
    begin, positives, negatives = first[row], relevant_start[row], irrelevant_start[row]
    p, n = relevant_stop[row] - positives, irrelevant_stop[row] - negatives
    x, z = np.empty(p), np.empty(n)
    for i in range(p):
        x[i] = values[begin + (relevant[positives + i] if dense else i)]
    for j in range(n):
        z[j] = values[begin + (irrelevant[negatives + j] if dense else p + j)]
    order, sorted_x = ascending(x), np.empty(p)
    for i in range(p):
        sorted_x[i] = x[order[i]]
    return x, z, order, sorted_x, np.empty(n, dtype=np.int64), np.empty(p, dtype=np.int64)


@numba.njit(cache=True, nogil=True)
def overwrite(block, row, x, z, order, sorted_x, v, b, loss):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Put the coefficients of a query's ranking in place of its distances; returns its violation."""
    violation = coefficients(x, z, order, sorted_x, v, b, loss)
    values, dense, first, lists = block
    relevant, relevant_start, _, irrelevant, irrelevant_start, _ = lists
    begin, positives, negatives = first[row], relevant_start[row], irrelevant_start[row]
    if dense:
        for at in range(begin, first[row + 1]):
            values[at] = 0.0
    for i in range(x.size):
        values[begin + (relevant[positives + i] if dense else i)] = x[i]
    for j in range(z.size):
        values[begin + (irrelevant[negatives + j] if dense else x.size + j)] = z[j]
    return violation


@numba.njit(cache=True, nogil=True)
def coefficients(x, z, order, sorted_x, v, b, loss):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Overwrite distances by the coefficients of a ranking; returns its violation.

    ``v`` in the order of ``z``, ``b`` in that of ``sorted_x``.
    """
    p, n = x.size, z.size
    # The least distance is subtracted before any sum: only differences matter.
    base = sorted_x[0]
    scale = 2.0 / (p * n)
    weighted = 0.0
    for j in range(n):
        if v[j]:
            weighted += v[j] * (z[j] - base)
        z[j] = scale * v[j]
    for i in range(p):
        weighted -= b[i] * (sorted_x[i] - base)
        x[order[i]] = -scale * b[i]
    return loss - scale * weighted

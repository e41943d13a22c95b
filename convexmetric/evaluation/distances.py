"""Squared distances between images of points, summed so that ties are exact, and verdicts at the threshold 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from convexmetric.arrays import Array
from convexmetric.numerics.compiling import compiled, compiled_in_any_order
from convexmetric.numerics.threads import over_rows

#: Rows of one matrix that stay in the processor's cache during a pass over the rows of the other.
TILE = 16


def squared_distances(A: Any, B: Any) -> Array:
    """``(n, n2)`` squared distances between the rows of two matrices, both dense or both sparse.

    Each is summed from the differences of its two rows and depends on nothing else: equal rows are at distance zero,
    the distance from x to x' is that from x' to x, ties are ties, and nothing is lost far from the origin.
    """
    D = np.empty((A.shape[0], B.shape[0]))
    if sp.issparse(A):
        work = D.size * (A.nnz + B.nnz) // max(1, A.shape[0] + B.shape[0])
        over_rows(_fill_sparse, len(D), work, _sorted_rows(A), _sorted_rows(B), D)
        return D
    over_rows(_fill, len(A), D.size * A.shape[1], np.ascontiguousarray(A), np.ascontiguousarray(B), D)
    return D


def listed_squared_distances(Z: Any, pairs: np.ndarray) -> Array:
    """``||z_i - z_j||^2`` of listed pairs: the same numbers as :func:`squared_distances`."""
    found = np.empty(len(pairs))
    if sp.issparse(Z):
        work = 2 * len(pairs) * Z.nnz // max(1, Z.shape[0])
        over_rows(_fill_sparse_listed, len(pairs), work, _sorted_rows(Z), pairs, found)
        return found
    over_rows(_fill_listed, len(pairs), len(pairs) * Z.shape[1], np.ascontiguousarray(Z), pairs, found)
    return found


@compiled_in_any_order
def _fill(begin, end, A, B, D):
    for tile in range(begin, end, TILE):
        for j in range(B.shape[0]):
            for i in range(tile, min(tile + TILE, end)):
                total = 0.0
                for k in range(A.shape[1]):
                    difference = A[i, k] - B[j, k]
                    total += difference * difference
                D[i, j] = total


@compiled_in_any_order
def _fill_listed(begin, end, Z, pairs, found):
    for t in range(begin, end):
        i, j = pairs[t, 0], pairs[t, 1]
        total = 0.0
        for k in range(Z.shape[1]):
            difference = Z[i, k] - Z[j, k]
            total += difference * difference
        found[t] = total


def _sorted_rows(Z: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CSR arrays ``indptr``, ``indices`` (ascending) and ``data`` of a sparse matrix."""
    rows = sp.csr_array(Z, copy=True)
    rows.sum_duplicates()
    return rows.indptr, rows.indices, rows.data


@compiled
def _between(one, i, other, j):
    """Squared distance of two sparse rows, summed column by column."""
    start, columns, numbers = one
    begin, places, values = other
    a, a_end, b, b_end = start[i], start[i + 1], begin[j], begin[j + 1]
    total = 0.0
    while a < a_end or b < b_end:
        if b == b_end or (a < a_end and columns[a] < places[b]):
            difference = numbers[a]
            a += 1
        elif a == a_end or places[b] < columns[a]:
            difference = values[b]
            b += 1
        else:
            difference = numbers[a] - values[b]
            a += 1
            b += 1
        total += difference * difference
    return total


@compiled
def _fill_sparse(begin, end, A, B, D):
    for i in range(begin, end):
        for j in range(D.shape[1]):
            D[i, j] = _between(A, i, B, j)


@compiled
def _fill_sparse_listed(begin, end, Z, pairs, found):
    for t in range(begin, end):
        found[t] = _between(Z, pairs[t, 0], Z, pairs[t, 1])


def verdicts(squared: Array) -> NDArray[np.int8]:
    """1 where a squared distance is below 1, 0 at 1, -1 above."""
    return np.sign(1.0 - squared).astype(np.int8)

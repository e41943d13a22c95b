"""Squared distances between images of points, summed so that ties are ties, and what an operator says of them."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from convexmetric.cones.base import Array
from convexmetric.threads import over_rows

__all__ = ["listed_squared_distances", "squared_distances", "verdicts"]

#: Rows that stay in the cache while the others pass by.
TILE = 16
#: Sums of squares may be taken in any order, always the same one.
FASTMATH = {"reassoc", "contract"}


def squared_distances(A: Array, B: Array) -> Array:
    """``(n, n2)`` squared distances between the rows of two matrices.

    Each is summed from the differences of its two rows and depends on nothing else: equal rows are at distance zero,
    the distance from x to x' is that from x' to x, ties are ties, and nothing is lost far from the origin.
    """
    D = np.empty((len(A), len(B)))
    over_rows(_fill, len(A), D.size * A.shape[1], np.ascontiguousarray(A), np.ascontiguousarray(B), D)
    return D


def listed_squared_distances(Z: Array, pairs: np.ndarray) -> Array:
    """``||z_i - z_j||^2`` of listed pairs: the same numbers as :func:`squared_distances`."""
    found = np.empty(len(pairs))
    over_rows(_fill_listed, len(pairs), len(pairs) * Z.shape[1], np.ascontiguousarray(Z), pairs, found)
    return found


@numba.njit(cache=True, nogil=True, fastmath=FASTMATH)
def _fill(begin, end, A, B, D):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for tile in range(begin, end, TILE):
        for j in range(B.shape[0]):
            for i in range(tile, min(tile + TILE, end)):
                total = 0.0
                for k in range(A.shape[1]):
                    difference = A[i, k] - B[j, k]
                    total += difference * difference
                D[i, j] = total


@numba.njit(cache=True, nogil=True, fastmath=FASTMATH)
def _fill_listed(begin, end, Z, pairs, found):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for t in range(begin, end):
        i, j = pairs[t, 0], pairs[t, 1]
        total = 0.0
        for k in range(Z.shape[1]):
            difference = Z[i, k] - Z[j, k]
            total += difference * difference
        found[t] = total


def verdicts(squared: Array) -> NDArray[np.int8]:
    """1 where a squared distance is below 1, 0 at 1, -1 above."""
    return np.sign(1.0 - squared).astype(np.int8)

r"""Relative comparisons by similarities: "query i is more similar to item j than to item k".

.. math:: s_t = q_i^\top W x_j - q_i^\top W x_k = \langle W, D_t \rangle, \qquad D_t = q_i (x_j - x_k)^\top
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.comparisons.base import Comparisons
from convexmetric.comparisons.points import as_points, check_features, listed_rows, rows_of
from convexmetric.cones import AllMatrices
from convexmetric.described import Described
from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp


class SimilarityTriplets(Comparisons):
    """The linear operator from matrices to differences of similarities, and its adjoint.

    Parameters
    ----------
    Q : (m, d) array
        Queries in rows.
    X : (n, k) array
        Items in rows.
    triplets : (T, 3) int array
        Rows ``(i, j, k)``: a query, the item that is more similar to it, and one that is less.
    cone : AllMatrices
        Cone of the matrix.

    Raises
    ------
    InputError
        If triplets are malformed, out of range or name an item twice, or the points do not fit the matrices.
    """

    def __init__(self, Q: Any, X: Any, triplets: Any, cone: AllMatrices) -> None:
        self.X = as_points(X)
        self.Q = self.X if Q is X else as_points(Q, "queries")
        check_features(self.Q, self.X, cone)
        most = max(len(self.Q), len(self.X))
        self.triplets, self.cone = listed_rows(triplets, most, "triplets", "triplet", "ijk"), cone
        rows_of(self.triplets[:, 0], len(self.Q), "triplets")
        rows_of(self.triplets[:, 1:], len(self.X), "triplets")
        if (self.triplets[:, 1] == self.triplets[:, 2]).any():
            raise InputError("triplets must name two different items, j and k, in every row")

    def described(self) -> Described:
        """Description of items, queries and triplets."""
        queries = {} if self.Q is self.X else {"queries": self.Q}
        return Described(arrays={"points": self.X, "triplets": self.triplets, **queries})

    @property
    def points(self) -> tuple[Any, ...]:
        """Items and queries, or one set if they are the same."""
        return (self.X,) if self.Q is self.X else (self.X, self.Q)

    @property
    def places(self) -> np.ndarray:
        """The triplets."""
        return self.triplets

    @property
    def _differences(self) -> Array:
        """``x_j - x_k`` of every triplet."""
        return np.asarray(self.X[self.triplets[:, 1]] - self.X[self.triplets[:, 2]])

    @property
    def rows(self) -> Array:
        """All ``D_t`` in coordinates: for small solves."""
        outer = self.Q[self.triplets[:, 0], :, None] * self._differences[:, None, :]
        symmetric = self.cone.size < outer[0].size
        return self.cone.coordinates(0.5 * (outer + outer.swapaxes(-1, -2)) if symmetric else outer)

    def forward(self, M: Array) -> Array:
        """``s = D(W)``."""
        return np.einsum("tj,tj->t", self.cone.times(self._differences, M), self.Q[self.triplets[:, 0]])

    def adjoint(self, u: Array) -> Array:
        """``sum_t u_t D_t``, one matrix product."""
        return self.cone.cross(self.Q[self.triplets[:, 0]] * u[:, None], sp.eye_array(len(self)), self._differences)

    def expression(self, M: cp.Variable) -> cp.Expression:
        """CVXPY expression of :meth:`forward`."""
        return cp.sum(cp.multiply(self.Q[self.triplets[:, 0]] @ M, self._differences), axis=1)

r"""Relative comparisons: "i is closer to j than to k".

.. math:: s_t = d_M(x_i, x_k) - d_M(x_i, x_j) = \langle M, D_t \rangle, \qquad
   D_t = (x_i - x_k)(x_i - x_k)^\top - (x_i - x_j)(x_i - x_j)^\top

with squared distances :math:`d_M(x, x') = (x - x')^\top M (x - x')`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from convexmetric.arrays import Array
from convexmetric.comparisons.base import Comparisons
from convexmetric.comparisons.diagonal_triplets import DenseTriplets, DiagonalTriplets, SparseTriplets
from convexmetric.comparisons.linear import Linear
from convexmetric.comparisons.points import Checked, described_points, listed_rows, points_on
from convexmetric.cones import Cone
from convexmetric.described import Described
from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp

#: Numbers in the rows of triplets under diagonal metrics up to which the rows are kept.
WRITTEN_OUT = 2**20


class Triplets(Comparisons):
    """The linear operator from metrics to triplet margins, and its adjoint.

    Under full matrices triplets that share a pair share its distance: work is done once per *distinct pair*. Under
    diagonal ones a few triplets are written out as rows; for many only the data are stored
    (:mod:`convexmetric.comparisons.diagonal_triplets`).

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Points in rows.
    triplets : (T, 3) int array
        Rows ``(i, j, k)``: i is closer to j than to k.
    cone : Cone
        Cone of the metric.

    Raises
    ------
    InputError
        If the triplets are empty, malformed, out of range or repeat an index.
    """

    def __init__(self, X: Any, triplets: ArrayLike, cone: Cone) -> None:
        self.X, self.cone = points_on(X, cone, sparse=True), cone
        self.triplets = checked_triplets(triplets, self.X.shape[0])

    def described(self) -> Described:
        """Description of points and triplets."""
        return Described(arrays={**described_points(self.X), "triplets": self.triplets})

    @property
    def points(self) -> tuple[Any, ...]:
        """The only set of points, X."""
        return (self.X,)

    @property
    def places(self) -> np.ndarray:
        """The triplets."""
        return self.triplets

    def pair_sums(self) -> tuple[np.ndarray, sp.csr_array]:
        """The distinct pairs, and the signed incidence of triplets on them."""
        return self._combined.pair_sums()

    @cached_property
    def _combined(self) -> Linear:
        """Triplets as combinations of the distances of distinct pairs."""
        n, T = self.X.shape[0], len(self)
        i, j, k = self.triplets.T
        ends = np.concatenate([i, i]), np.concatenate([k, j])
        keys = np.minimum(*ends) * n + np.maximum(*ends)
        distinct, position = np.unique(keys, return_inverse=True)
        signs = np.repeat([1.0, -1.0], T)
        rows = np.tile(np.arange(T), 2)
        incidence = sp.csr_array((signs, (rows, position.ravel())), shape=(T, distinct.size))
        return Linear(Checked(self.X), np.column_stack(np.divmod(distinct, n)), incidence, self.cone)

    @cached_property
    def _diagonal(self) -> DiagonalTriplets:
        """The operator under diagonal metrics."""
        kind = DenseTriplets if isinstance(self.X, np.ndarray) else SparseTriplets
        return kind(self.X, self.triplets)

    @cached_property
    def _written_out(self) -> bool:
        """Whether the rows are few enough to be stored, which makes products faster."""
        return self._diagonal.entries <= WRITTEN_OUT

    @cached_property
    def rows(self) -> Any:
        """All ``D_t`` in coordinates of the cone, ``(T, cone.size)``; for statements and small solves."""
        if self.cone.diagonal:
            return self._diagonal.block(slice(None), slice(None))
        return self._combined.rows

    def block(self, rows: np.ndarray, columns: np.ndarray | slice) -> Any:
        """Some ``D_t`` in some coordinates of the cone, made without the others if the metric is diagonal."""
        if self.cone.diagonal:
            return self._diagonal.block(rows, columns)
        return super().block(rows, columns)

    def forward(self, M: Array) -> Array:
        """``s = D(M)``, shape ``(T,)``."""
        if self.cone.diagonal:
            return np.asarray(self.rows @ M) if self._written_out else self._diagonal.forward(M)
        return self._combined.forward(M)

    def adjoint(self, u: Array) -> Array:
        """``sum_t u_t D_t``: one weighted graph Laplacian between two copies of the data."""
        if self.cone.diagonal:
            return np.asarray(self.rows.T @ u) if self._written_out else self._diagonal.adjoint(u)
        return self._combined.adjoint(u)

    def expression(self, M: cp.Variable) -> cp.Expression:
        """CVXPY expression of :meth:`forward`."""
        if self.cone.diagonal:
            return self.rows @ M
        return self._combined.expression(M)


def checked_triplets(triplets: ArrayLike, n: int) -> np.ndarray:
    """``triplets`` as ``(T, 3)`` rows of three different points, or an :class:`InputError`."""
    array = listed_rows(triplets, n, "triplets", "comparison", "ijk")
    i, j, k = array.T
    repeated = np.flatnonzero((i == j) | (i == k) | (j == k))
    if repeated.size:
        t = int(repeated[0])
        raise InputError(
            f"triplets must name three different points, but triplets[{t}] = {tuple(map(int, array[t]))} "
            f"repeats an index ({repeated.size} such rows)"
        )
    return array

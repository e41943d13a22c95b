r"""Linear combinations of squared distances: of two pairs, of all pairs of two sets, along a path of pairs.

.. math:: s_c = \sum_p A_{cp} \, d_M(x_{i_p}, x_{j_p}) = \langle M, D_c \rangle, \qquad
   D_c = \sum_p A_{cp} (x_{i_p} - x_{j_p})(x_{i_p} - x_{j_p})^\top

No :math:`D_c` is made: a pass is one over the pairs (:class:`~convexmetric.comparisons.PairDistances`) and a product
with the sparse matrix A.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from convexmetric.arrays import Array
from convexmetric.comparisons.base import Comparisons
from convexmetric.comparisons.pair_distances import PairDistances
from convexmetric.comparisons.points import Checked, listed_rows, points_on
from convexmetric.cones import Cone
from convexmetric.described import Described
from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp


class Linear(Comparisons):
    """The linear operator from metrics to linear combinations of squared distances, and its adjoint.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Points in rows.
    pairs : (P, 2) int array
        Rows ``(i, j)``; a pair that several comparisons have needs to be listed once.
    matrix : (T, P) array or sparse matrix
        A row of coefficients of the pairs for each comparison. ``s`` is large where a comparison holds, so that pairs
        that should be far apart have positive coefficients.
    cone : Cone
        Cone of the metric.

    Raises
    ------
    InputError
        If the pairs are empty, malformed or out of range, or name one point twice, or the matrix does not fit.
    """

    def __init__(self, X: Any, pairs: ArrayLike, matrix: Any, cone: Cone) -> None:
        self.X, self.cone = points_on(X, cone, sparse=True), cone
        #: Squared distances of the pairs.
        self.pairs = PairDistances(Checked(self.X), pairs, np.ones(len(np.atleast_1d(pairs))), cone)
        self.matrix = sp.csr_array(matrix, dtype=np.float64, copy=True)
        self.matrix.sum_duplicates()
        if self.matrix.ndim != 2 or not len(self) or self.matrix.shape[1] != len(self.pairs):
            wanted = f"a row for each comparison, and a column for each of the {len(self.pairs)} pairs"
            raise InputError(f"matrix must have {wanted}, got shape {self.matrix.shape}")
        if not np.isfinite(self.matrix.data).all():
            raise InputError("matrix has NaN or infinite entries")

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def described(self) -> Described:
        """Description of points, pairs and the matrix."""
        A = self.matrix
        parts = {"matrix_data": A.data, "matrix_indices": A.indices, "matrix_indptr": A.indptr.astype(np.int64)}
        return Described(arrays=self.pairs.described().arrays | parts)

    @property
    def points(self) -> tuple[Any, ...]:
        """The only set of points, X."""
        return (self.X,)

    @property
    def distances_each(self) -> float:
        """Largest sum of the sizes of the coefficients of a comparison."""
        return float(np.abs(self.matrix).sum(axis=1).max())

    @cached_property
    def places(self) -> np.ndarray:
        """Points of the pairs of each comparison, one pair after the other, padded with -1."""
        counts = np.diff(self.matrix.indptr)
        found = np.full((len(self), int(counts.max(initial=1)), 2), -1)
        rows = np.repeat(np.arange(len(self)), counts)
        found[rows, np.arange(len(rows)) - self.matrix.indptr[rows]] = self.pairs.pairs[self.matrix.indices]
        return found.reshape(len(self), -1)

    def pair_sums(self) -> tuple[np.ndarray, sp.csr_array]:
        """The pairs, and the matrix."""
        return self.pairs.pairs, self.matrix

    @property
    def rows(self) -> Any:
        """All ``D_c`` in coordinates of the cone, ``(T, cone.size)``; sparse if X is."""
        return self.matrix @ self.pairs.rows

    def forward(self, M: Array) -> Array:
        """``s = D(M)``, shape ``(T,)``."""
        return np.asarray(self.matrix @ self.pairs.forward(M))

    def adjoint(self, u: Array) -> Array:
        """``sum_c u_c D_c``: one weighted graph Laplacian."""
        return self.pairs.adjoint(self.matrix.T @ u)

    def expression(self, M: cp.Variable) -> cp.Expression:
        """CVXPY expression of :meth:`forward`."""
        return self.matrix @ self.pairs.expression(M)


class Quadruplets(Linear):
    r"""Comparisons of two pairs, "i and j are closer than k and l": ``s = d_M(x_k, x_l) - d_M(x_i, x_j)``.

    A triplet is the quadruplet (i, j, i, k).

    Parameters
    ----------
    X : (n, d) array
        Points in rows.
    quadruplets : (T, 4) int array
        Rows ``(i, j, k, l)``: i and j are closer than k and l.
    cone : Cone
        Cone of the metric.

    Raises
    ------
    InputError
        If the quadruplets are empty, malformed or out of range, a pair names one point twice, or the two
        pairs of a row are the same.
    """

    def __init__(self, X: Any, quadruplets: ArrayLike, cone: Cone) -> None:
        X = points_on(X, cone, sparse=cone.diagonal)
        rows = listed_rows(quadruplets, X.shape[0], "quadruplets", "quadruplet", "ijkl")
        one = sp.eye_array(len(rows))
        super().__init__(Checked(X), np.concatenate([rows[:, :2], rows[:, 2:]]), sp.hstack([-one, one]), cone)
        if (np.sort(rows[:, :2]) == np.sort(rows[:, 2:])).all(axis=1).any():
            raise InputError("quadruplets must name two different pairs, (i, j) and (k, l), in every row")
        self.quadruplets = rows

    described = Linear.described

    @property
    def places(self) -> np.ndarray:
        """The quadruplets."""
        return self.quadruplets

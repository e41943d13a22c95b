r"""Signed squared distances of listed pairs.

.. math:: s_t = \sigma_t \, d_M(x_i, x_j) = \langle M, D_t \rangle, \qquad
   D_t = \sigma_t (x_i - x_j)(x_i - x_j)^\top, \quad \sigma_t = \pm 1

The adjoint is one weighted graph Laplacian, :math:`\sum_t u_t D_t = X^\top \mathrm{Lap}(\sigma u) X`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.comparisons.base import Comparisons
from convexmetric.comparisons.pairs import ListedPairs
from convexmetric.comparisons.points import as_rows, described_points, points_on
from convexmetric.cones import Cone
from convexmetric.deadline import until_deadline
from convexmetric.described import Described
from convexmetric.numerics.compiling import compiled, compiled_in_any_order
from convexmetric.numerics.threads import over_rows
from convexmetric.programs.lazy import cvxpy as cp

#: Pairs whose differences are in memory at a time.
BLOCK = 4_096
#: Share of all pairs of points from which on products of all points are faster than sums over the listed pairs.
MANY = 1 / 12


class PairDistances(Comparisons):
    """The linear operator from metrics to signed squared distances, and its adjoint.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Points in rows.
    pairs : (T, 2) int array
        Rows ``(i, j)``; the same pair may occur more than once.
    signs : (T,) array
        +1 or -1.
    cone : Cone
        Cone of the metric.

    Raises
    ------
    InputError
        If the pairs are empty, malformed or out of range, or name one point twice.
    """

    def __init__(self, X: Any, pairs: Any, signs: Array, cone: Cone) -> None:
        self.X, self.cone = points_on(X, cone, sparse=True), cone
        self.pairs = ListedPairs(pairs, self.X.shape[0]).pairs
        self.signs = np.asarray(signs, dtype=np.float64)

    def described(self) -> Described:
        """Description of points and pairs."""
        return Described(arrays={**described_points(self.X), "pairs": self.pairs})

    def signs_of_each(self) -> Array:
        """The signs ``sigma``."""
        return self.signs

    @property
    def points(self) -> tuple[Any, ...]:
        """The only set of points, X."""
        return (self.X,)

    @property
    def places(self) -> np.ndarray:
        """The pairs."""
        return self.pairs

    def pair_sums(self) -> tuple[np.ndarray, sp.csr_array]:
        """The pairs, and their signs on the diagonal."""
        return self.pairs, sp.diags_array(self.signs).tocsr()

    def differences(self, rows: np.ndarray | slice) -> Any:
        """``x_i - x_j`` of some pairs; sparse if X is."""
        i, j = self.pairs[rows].T
        return self.X[i] - self.X[j]

    @property
    def _stated(self) -> Any:
        """All differences; sparse if X is and the metric is diagonal."""
        V = self.differences(slice(None))
        return V if self.cone.diagonal else as_rows(V)

    @property
    def rows(self) -> Any:
        """All ``D_t`` in coordinates of the cone, ``(T, cone.size)``; sparse if X is."""
        rows = self.cone.outer_rows(self._stated)
        return sp.csr_array(rows.multiply(self.signs[:, None])) if sp.issparse(rows) else self.signs[:, None] * rows

    @cached_property
    def _kept(self) -> Any:
        """The differences, where pairs are no more than points; else None."""
        return self.differences(slice(None)) if len(self) <= self.X.shape[0] else None

    @cached_property
    def _entries(self) -> np.ndarray | None:
        """Places of the pairs in a matrix of all pairs of points; None if they are a small share of them."""
        i, j = self.pairs.T
        n = self.X.shape[0]
        return i * n + j if isinstance(self.X, np.ndarray) and len(self) >= MANY * n * n else None

    @cached_property
    def _of_items(self) -> bool:
        """Whether full metrics act on items without features, whose inner products they are."""
        X, cone = self.X, self.cone
        return not (cone.diagonal or cone.free) and X.shape == cone.shape and np.array_equal(X, np.eye(cone.d))

    def forward(self, M: Array) -> Array:
        """``s = D(M)``, shape ``(T,)``."""
        if self._kept is not None:
            return self.signs * self.cone.quadratic_forms(self._kept, M)
        if self._entries is not None:
            products = M.copy() if self._of_items else self.cone.gram(self.X, M, self.X)
            norms = products.diagonal().copy()
            products *= -2.0
            products += norms[:, None] + norms
            s = np.take(products, self._entries)
            s *= self.signs
            return s
        s = np.empty(len(self))
        if not sp.issparse(self.X):
            images = np.ascontiguousarray(self.cone.times(self.X, M))
            over_rows(products_of_differences, len(s), len(s) * self.cone.d, images, self.X, self.pairs, s)
            return self.signs * s
        for first in until_deadline(range(0, len(self), BLOCK)):
            rows = slice(first, first + BLOCK)
            s[rows] = self.cone.quadratic_forms(self.differences(rows), M)
        return self.signs * s

    def between(self, images: Array) -> Array:
        """Signed squared distances between images of the points, any number of coordinates each."""
        i, j = self.pairs.T
        return np.asarray(self.signs * np.sum((images[i] - images[j]) ** 2, axis=1))

    def adjoint(self, u: Array) -> Array:
        """``X^T Lap(sigma u) X``."""
        w, n = self.signs * u, self.X.shape[0]
        if self._kept is not None:
            return self.cone.outer_sum(self._kept, w)
        if sp.issparse(self.X):
            S = self.cone.zeros()
            for first in until_deadline(range(0, len(self), BLOCK)):
                rows = slice(first, first + BLOCK)
                S = S + self.cone.outer_sum(self.differences(rows), w[rows])
            return S
        if self._entries is not None:
            T = np.zeros((n, n))
            _add_laplacian(T, self.pairs, w)
            return T if self._of_items else self.cone.cross(self.X, T, self.X)
        i, j = self.pairs.T
        degrees = np.bincount(i, w, n) + np.bincount(j, w, n)
        # Weights need not be symmetric, as their product with the points is made so.
        T = sp.csr_array((np.r_[degrees, -2.0 * w], (np.r_[:n, i], np.r_[:n, j])), shape=(n, n))
        return self.cone.cross(self.X, T, self.X)

    def expression(self, M: cp.Variable) -> cp.Expression:
        """CVXPY expression of :meth:`forward`."""
        return cp.multiply(self.signs, self.cone.quadratic_form_expressions(self._stated, M))


@compiled_in_any_order
def products_of_differences(begin, end, images, X, pairs, s):
    """Write ``<images_i - images_j, x_i - x_j>`` of every pair, in the precision of ``s``."""
    for t in range(begin, end):
        i, j = pairs[t]
        total = s.dtype.type(0.0)
        for k in range(X.shape[1]):
            total += (images[i, k] - images[j, k]) * (X[i, k] - X[j, k])
        s[t] = total


@compiled
def _add_laplacian(T, pairs, weights):
    """Add the Laplacian of a graph with weighted edges to T."""
    for t in range(len(pairs)):
        i, j = pairs[t, 0], pairs[t, 1]
        T[i, j] -= weights[t]
        T[j, i] -= weights[t]
        T[i, i] += weights[t]
        T[j, j] += weights[t]


def symmetric(i: np.ndarray, j: np.ndarray, values: np.ndarray, n: int) -> sp.csr_array:
    """Symmetric ``(n, n)`` weights of a graph from edges (i, j) and their values; values of repeated edges add up."""
    return sp.csr_array((np.r_[values, values], (np.r_[i, j], np.r_[j, i])), shape=(n, n))

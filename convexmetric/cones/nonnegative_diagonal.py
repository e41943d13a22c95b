"""The cone of nonnegative diagonal matrices: one weight per feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array, finite_array, real_array
from convexmetric.cones.base import Cone
from convexmetric.cones.projection import DiagonalProjection
from convexmetric.cones.scaling import DiagonalScaling
from convexmetric.described import Described
from convexmetric.errors import InputError
from convexmetric.numerics.compiling import compiled
from convexmetric.programs.lazy import cvxpy as cp


def _squared(V: Any) -> Any:
    return V * V if isinstance(V, np.ndarray) else V.multiply(V).tocsr()


class NonnegativeDiagonal(Cone):
    """Diagonal metrics, held as their weights ``w`` with shape ``(d,)``; coordinates are ``w`` itself."""

    def described(self) -> Described:
        """``"diagonal"`` and the number of features."""
        return Described({"cone": "diagonal", "features": self.d})

    @property
    def shape(self) -> tuple[int]:
        """``(d,)``."""
        return (self.d,)

    @property
    def size(self) -> int:
        """``d``."""
        return self.d

    def element(self, M: Any, name: str = "w") -> Array:
        """Weights ``(d,)``; a diagonal ``(d, d)`` matrix, sparse or not, is accepted for its diagonal."""
        given = M if sp.issparse(M) else real_array(M, name)
        if given.shape == (self.d, self.d):
            weights = given.diagonal()
            if (given != 0.0).sum() > np.count_nonzero(weights):
                raise InputError(f"{name} must be a vector of {self.d} weights or a diagonal matrix")
            given = weights
        return finite_array(given, self.shape, name)

    def full(self, M: Array) -> Array:
        """``diag(w)``."""
        return np.diag(M)

    def identity(self) -> Array:
        """All weights one."""
        return np.ones(self.d)

    def project(self, S: Array) -> Array:
        """Entrywise ``max(S, 0)``."""
        return np.maximum(S, 0.0)

    def smallest(self, M: Array) -> float:
        """Smallest weight."""
        return float(M.min())

    def largest(self, S: Array) -> float:
        """Largest entry."""
        return float(S.max())

    def bottom(self, S: Array) -> Array:
        """All weight on the feature of the smallest entry."""
        w = np.zeros(self.d)
        w[np.argmin(S)] = 1.0
        return w

    def largest_ratio(self, S: Array, H: Array) -> float:
        """``max_f S_f / H_f``; NaN unless all entries of H are positive."""
        return float((S / H).max()) if H.min() > 0.0 else np.nan

    def relative_norm(self, R: Array, Z: Array) -> float:
        """``max_f |R_f / Z_f|``."""
        return float(np.abs(R / Z).max())

    def inverse(self, M: Array) -> Array:
        """``1 / w``, entrywise."""
        return 1.0 / M

    def centred_pair(self, S: Array, curvature: Any, mu: float) -> tuple[Array, Array]:
        """Positive root of ``curvature u - mu / u = S`` and ``mu / u``; not finite where the curvature is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            sigma = S / curvature
            U = 0.5 * (sigma + np.sqrt(sigma**2 + 4.0 * mu / curvature))
            return U, mu / U

    def scaling(self, U: Array, Z: Array, L: float | Array = 0.0) -> DiagonalScaling:
        """Nesterov-Todd scaling of two positive vectors."""
        return DiagonalScaling(U, Z, L)

    def projection(self, W: Array) -> DiagonalProjection:
        """Projection of a vector, with the selection of its positive entries as derivative."""
        return DiagonalProjection(W)

    def spectrum(self, M: Array) -> Array:
        """Weights, largest first."""
        return np.sort(M)[::-1]

    def factor(self, M: Array) -> Array:
        """``diag(sqrt(w))`` without the rows of zero weights."""
        kept = np.flatnonzero(M > 0.0)
        factor = np.zeros((kept.size, self.d))
        factor[np.arange(kept.size), kept] = np.sqrt(M[kept])
        return factor

    def trace(self, M: Array) -> float:
        """Sum of the weights."""
        return float(M.sum())

    def coordinates(self, S: Array) -> Array:
        """The weights themselves."""
        return S

    def from_coordinates(self, v: Array) -> Array:
        """The weights themselves."""
        return v

    def quadratic_forms(self, V: Any, M: Array) -> Array:
        """``sum_f w_f v_f^2`` for every row ``v``."""
        return np.asarray(_squared(V) @ M, dtype=np.float64).ravel()

    def outer_sum(self, V: Any, u: Array) -> Array:
        """Diagonal of ``V^T diag(u) V``."""
        return np.asarray(_squared(V).T @ u, dtype=np.float64).ravel()

    def outer_rows(self, V: Any) -> Any:
        """Entrywise squares of V; sparse if V is."""
        return _squared(V)

    def times(self, V: Any, M: Array) -> Array:
        """``V diag(w)``."""
        return np.asarray(V * M)

    def gram(self, A: Any, M: Array, B: Any) -> Array:
        """``A diag(w) B^T``."""
        weighted = A * M if isinstance(A, np.ndarray) else A.multiply(M).tocsr()
        product = weighted @ B.T
        return product if isinstance(product, np.ndarray) else product.toarray()

    def cross(self, A: Any, T: Array, B: Any) -> Array:
        """Diagonal of ``A^T T B``; for sparse A and B computed feature by feature, without a dense ``T B``."""
        if isinstance(T, np.ndarray) and not isinstance(A, np.ndarray) and not isinstance(B, np.ndarray):
            a, b, found = A.tocsc(), B.tocsc(), np.empty(self.d)
            _sparse_cross(a.indptr, a.indices, a.data, b.indptr, b.indices, b.data, T, found)
            return found
        product = T @ B
        if isinstance(A, np.ndarray):
            return np.einsum("if,if->f", A, product)
        return np.asarray(A.multiply(product).sum(axis=0), dtype=np.float64).ravel()

    def variable(self, name: str) -> tuple[cp.Variable, list[cp.Constraint]]:
        """Vector variable with ``w >= 0``."""
        w = cp.Variable(self.d, name=name)
        return w, [w >= 0]

    def trace_expression(self, M: cp.Variable) -> cp.Expression:
        """Sum of the weights."""
        return cp.sum(M)

    def quadratic_form_expressions(self, V: Array, M: cp.Variable) -> cp.Expression:
        """``sum_f w_f v_f^2`` per row."""
        return _squared(V) @ M


@compiled
def _sparse_cross(a_start, a_rows, a, b_start, b_rows, b, T, found):
    """``a_f^T T b_f`` for the columns of two matrices compressed by columns."""
    for f in range(found.size):
        total = 0.0
        for i in range(a_start[f], a_start[f + 1]):
            row = T[a_rows[i]]
            product = 0.0
            for j in range(b_start[f], b_start[f + 1]):
                product += row[b_rows[j]] * b[j]
            total += a[i] * product
        found[f] = total

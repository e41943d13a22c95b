"""The cone of symmetric positive semidefinite matrices: full metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import ArrayLike

from convexmetric.arrays import Array, finite_array, real_array
from convexmetric.cones.base import Cone
from convexmetric.cones.projection import MatrixProjection
from convexmetric.cones.scaling import MatrixScaling
from convexmetric.described import Described
from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp

#: Asymmetry above this fraction of the largest entry is more than the rounding of a computed metric.
NOT_ROUNDING = 1e-3
#: Most numbers in rows that stay in the cache between weighting and multiplication.
CACHED = 50_000
A_FACTOR = "if this is a factor L, (k, d), of a metric (distances ||L x - L x'||^2), pass L.T @ L"


class MatrixCone(Cone):
    """Base of cones of symmetric ``(d, d)`` matrices."""

    @property
    def shape(self) -> tuple[int, int]:
        """``(d, d)``."""
        return (self.d, self.d)

    def trace(self, M: Array) -> float:
        """``tr M``."""
        return float(np.trace(M))

    def quadratic_forms(self, V: Any, M: Array) -> Array:
        """``v^T M v`` for every row ``v``; one matrix product, no ``(d, d)`` matrix per row."""
        MV = np.asarray(V @ M)
        if isinstance(V, np.ndarray):
            return np.einsum("ij,ij->i", MV, V)
        return np.asarray(V.multiply(MV).sum(axis=1), dtype=np.float64).ravel()

    def times(self, V: Any, M: Array) -> Array:
        """``V M``."""
        return np.asarray(V @ M)

    def trace_expression(self, M: cp.Variable) -> cp.Expression:
        """``tr M``."""
        return cp.trace(M)

    def quadratic_form_expressions(self, V: Array, M: cp.Variable) -> cp.Expression:
        """``v^T M v`` per row, stacked: one CVXPY constraint instead of one per comparison."""
        return cp.sum(cp.multiply(V @ M, V), axis=1)


class PSDCone(MatrixCone):
    """Symmetric ``(d, d)`` matrices with nonnegative eigenvalues.

    Coordinates are the upper triangle row by row with off-diagonal entries times ``sqrt(2)`` (svec), so
    that ``<A, B> = tr(A B)`` is their dot product.
    """

    def __init__(self, d: int) -> None:
        super().__init__(d)
        rows, columns = np.triu_indices(self.d)
        self._upper = rows * self.d + columns
        self._lower = columns * self.d + rows
        self._weights = np.where(rows == columns, 1.0, np.sqrt(2.0))

    def described(self) -> Described:
        """``"psd"`` and the number of features."""
        return Described({"cone": "psd", "features": self.d})

    @property
    def size(self) -> int:
        """``d (d + 1) / 2``."""
        return self.d * (self.d + 1) // 2

    def element(self, M: ArrayLike, name: str = "M") -> Array:
        """``M`` as a symmetric float64 matrix; asymmetry above rounding is an error."""
        M = real_array(M, name)
        if M.ndim == 2 and M.shape[0] != M.shape[1] == self.d:
            raise InputError(f"{name} must have shape {self.shape}, got {M.shape}; {A_FACTOR}")
        M = finite_array(M, self.shape, name)
        scale, asymmetry = np.abs(M).max(), np.abs(M - M.T).max()
        if asymmetry > NOT_ROUNDING * scale:
            raise InputError(f"{name} must be symmetric; {A_FACTOR}")
        if asymmetry > 1e-8 * max(scale, np.finfo(float).tiny):
            raise InputError(f"{name} must be symmetric; pass ({name} + {name}.T) / 2 if that is what you mean")
        return 0.5 * M + 0.5 * M.T

    def project(self, S: Array) -> Array:
        """Keep the positive eigenvalues."""
        values, vectors = np.linalg.eigh(S)
        positive = values > 0
        return (vectors[:, positive] * values[positive]) @ vectors[:, positive].T

    def smallest(self, M: Array) -> float:
        """``lambda_min(M)``."""
        return float(np.linalg.eigvalsh(M)[0])

    def largest(self, S: Array) -> float:
        """``lambda_max(S)``."""
        return float(np.linalg.eigvalsh(S)[-1])

    def bottom(self, S: Array) -> Array:
        """``v v^T`` of an eigenvector of the smallest eigenvalue."""
        # Solvers for a subset of the eigenvalues fail if entries differ by many orders of magnitude.
        v = np.linalg.eigh(S)[1][:, 0]
        return np.outer(v, v)

    def largest_ratio(self, S: Array, H: Array) -> float:
        """Largest generalised eigenvalue of ``(S, H)``; NaN unless H is positive definite."""
        try:
            return float(la.eigh(S, H, eigvals_only=True, check_finite=False)[-1])
        except la.LinAlgError:
            return np.nan

    def relative_norm(self, R: Array, Z: Array) -> float:
        """Largest absolute generalised eigenvalue of ``(R, Z)``; infinite unless Z is positive definite."""
        try:
            return float(np.abs(la.eigh(R, Z, eigvals_only=True, check_finite=False)).max())
        except la.LinAlgError:
            return np.inf

    def inverse(self, M: Array) -> Array:
        """``M^-1``, symmetric to the last bit."""
        inverse = np.linalg.inv(M)
        return 0.5 * (inverse + inverse.T)

    def centred_pair(self, S: Array, curvature: Any, mu: float) -> tuple[Array, Array]:
        """In the eigenbasis of S: the positive root of ``curvature u - mu / u = s`` for every eigenvalue s."""
        sigma, vectors = np.linalg.eigh(S)
        sigma = sigma / curvature
        values = 0.5 * (sigma + np.sqrt(sigma**2 + 4.0 * mu / curvature))
        return (vectors * values) @ vectors.T, (vectors * (mu / values)) @ vectors.T

    def scaling(self, U: Array, Z: Array, L: float | Array = 0.0) -> MatrixScaling:
        """Nesterov-Todd scaling, which takes U and Z to one diagonal matrix; a full matrix L raises SolverError."""
        return MatrixScaling(self, U, Z, L)

    def projection(self, W: Array) -> MatrixProjection:
        """Projection from the eigenvalues and eigenvectors of W."""
        values, vectors = np.linalg.eigh(W)
        return MatrixProjection(values[::-1].copy(), np.ascontiguousarray(vectors[:, ::-1]))

    def on_subspace(self, count: int) -> PSDCone:
        """Semidefinite ``(count, count)`` matrices."""
        return PSDCone(count)

    def spectrum(self, M: Array) -> Array:
        """Eigenvalues, largest first."""
        return np.asarray(np.linalg.eigvalsh(M)[::-1], dtype=np.float64)

    def factor(self, M: Array) -> Array:
        """Eigenvectors times the roots of their eigenvalues, largest first; those at rounding level are left out."""
        values, vectors = np.linalg.eigh(M)
        kept = values > max(0.0, values[-1]) * values.size * np.finfo(float).eps
        return np.asarray(np.sqrt(values[kept])[::-1, None] * vectors[:, kept].T[::-1])

    def thin_factor(self, M: Array) -> Array | None:
        """Factor of M if its rank is at most ``d / 2`` and no eigenvalue is negative beyond rounding; else None."""
        values, vectors = np.linalg.eigh(M)
        negligible = max(0.0, values[-1]) * values.size * np.finfo(float).eps
        kept = values > negligible
        if values[0] < -negligible or 2 * kept.sum() > values.size:
            return None
        return np.asarray(np.sqrt(values[kept])[:, None] * vectors[:, kept].T)

    def coordinates(self, S: Array) -> Array:
        """Svec of one matrix or of a stack of matrices."""
        flat = S.reshape(*S.shape[:-2], self.d * self.d)
        return np.take(flat, self._upper, axis=-1) * self._weights

    def from_coordinates(self, v: Array) -> Array:
        """Symmetric matrices from their svec."""
        flat = np.empty((*v.shape[:-1], self.d * self.d))
        entries = v / self._weights
        flat[..., self._upper] = entries
        flat[..., self._lower] = entries
        return flat.reshape(*v.shape[:-1], self.d, self.d)

    def outer_sum(self, V: Any, u: Array) -> Array:
        """``V^T diag(u) V``."""
        if not isinstance(V, np.ndarray):
            S = (V.T @ V.multiply(u[:, None])).toarray()
            return np.asarray(0.5 * (S + S.T))
        S, step = np.zeros((self.d, self.d)), max(1, CACHED // self.d)
        for first in range(0, len(V), step):
            rows = V[first : first + step]
            S += rows.T @ (rows * u[first : first + step, None])
        return 0.5 * (S + S.T)

    def outer_rows(self, V: Array) -> Array:
        """Svec of ``v v^T`` for every row ``v`` of a dense V."""
        rows, columns = np.triu_indices(self.d)
        outer = V[:, rows]
        outer *= V[:, columns]
        outer *= self._weights
        return outer

    def cross(self, A: Any, T: Array, B: Any) -> Array:
        """``(A^T T B + B^T T^T A) / 2``, the smaller side first."""
        dense = isinstance(A, np.ndarray) and isinstance(T, np.ndarray)
        S = np.asarray((A.T @ T) @ B if dense and T.shape[1] < T.shape[0] else A.T @ (T @ B))
        return 0.5 * (S + S.T)

    def variable(self, name: str) -> tuple[cp.Variable, list[cp.Constraint]]:
        """Symmetric variable with an explicit ``>> 0``, which keeps its dual (``PSD=True`` has none)."""
        M = cp.Variable(self.shape, symmetric=True, name=name)
        return M, [M >> 0]

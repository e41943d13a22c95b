r"""A quadratic form of the diagonal (paper 2, equation 8).

.. math:: \Omega(w) = \tfrac12 w^\top L w, \qquad
   \Omega^*_K(S) \; \le \; \tfrac12 z^\top L z \quad \text{for any } z \text{ with } L z \ge S

since :math:`\langle S, w \rangle - \tfrac12 w^\top L w \le z^\top L w - \tfrac12 w^\top L w \le \tfrac12 z^\top L z`
for every :math:`w \ge 0`. From a metric near the optimum, z = w + delta 1 is feasible when no entry of L is negative.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.linalg as la
from numpy.typing import ArrayLike

from convexmetric.arrays import Array, finite_array, real_array
from convexmetric.cones import Cone
from convexmetric.described import Described, symmetric
from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.base import Regularizer

#: Maximal number of changes of the active set.
ROUNDS = 30


def is_positive_semidefinite(L: Array) -> bool:
    """Whether a symmetric matrix with nonnegative diagonal has no eigenvalue below minus 1e-13 of its trace."""
    shifted = L.copy()
    shifted[np.diag_indices_from(shifted)] += 1e-13 * max(float(np.trace(L)), np.finfo(float).tiny)
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


class QuadraticForm(Regularizer):
    """``1/2 w^T L w`` on diagonal metrics.

    Parameters
    ----------
    L : (d, d) array
        Positive semidefinite with nonnegative entries, as ``(A^T A) o (A^T A)`` is.

    Raises
    ------
    InputError
        If L is not square, has NaN or negative entries, is not symmetric or not positive semidefinite.
    """

    #: A if L is ``(A^T A) o (A^T A)``.
    A: Array | None = None

    def __init__(self, L: ArrayLike) -> None:
        array = real_array(L, "L")
        if array.ndim != 2 or array.shape[0] != array.shape[1]:
            raise InputError(f"L must be a square matrix, got shape {array.shape}")
        self.L = finite_array(array, array.shape, "L")
        if self.L.min() < 0.0:
            raise InputError("L must have no negative entry; the dual bound rests on it")
        if not np.allclose(self.L, self.L.T, rtol=1e-10, atol=0.0):
            raise InputError("L must be symmetric")
        if not is_positive_semidefinite(self.L):
            raise InputError("L must be positive semidefinite, or the problem is not convex")

    @classmethod
    def gram(cls, A: Array) -> Self:
        """``L = (A^T A) o (A^T A)``, positive semidefinite by Schur's theorem; certificates state A."""
        form = cls((A.T @ A) ** 2)
        form.A = A
        return form

    def described(self, cone: Cone, points: Array | None) -> Described:
        """L stated by A; by the points if it is their entrywise square (points a kernel matrix); or as a matrix."""
        table = {"kind": "quadratic form"}
        if self.A is not None:
            return Described(table | {"of": "gram of A"}, {"gram_of": self.A})
        if points is not None and np.array_equal(points * points, self.L) and np.array_equal(points, points.T):
            return Described(table | {"of": "squared points"})
        return Described(table | {"of": "matrix"}, {"form": symmetric(self.L)})

    def hints(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> dict[str, Any]:
        """``z`` with ``L z >= S - G``."""
        return {"hint": self.sharpened(S, G, hint)}

    def value(self, M: Array, cone: Cone) -> float:
        """``1/2 w^T L w``."""
        return 0.5 * float(M @ (self.L @ M))

    def bound(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> float:
        """``theta v - 1/2 theta^2 z^T L z`` at the best theta, with ``L z >= S``, z from the hint."""
        square = self._square(S if G is None else S - G, hint)
        if np.isinf(square):
            return -np.inf
        if G is None and square > value:
            return 0.5 * value * (value / square) if value > 0.0 else 0.0
        return value - 0.5 * square

    def sharpened(self, S: Array, G: Array | None, hint: Array) -> Array:
        """Active-set steps from ``hint`` to the minimiser of ``1/2 w^T L w - <S - G, w>`` over ``w >= 0``.

        It gives the best bound: there ``L w >= S - G``, with equality where w is positive. The bound at the best metric
        may be far worse, if the dual point belongs to another one.
        """
        target = S if G is None else S - G
        ridge = 1e-14 * max(float(self.L.diagonal().max()), np.finfo(float).tiny)
        best, least = hint, self._square(target, hint)
        active = (hint > 1e-9 * hint.max(initial=0.0)) | (target > self.L @ hint)
        for _ in range(ROUNDS):
            rows = np.flatnonzero(active)
            w = np.zeros_like(hint)
            if rows.size:
                block = self.L[np.ix_(rows, rows)]
                block[np.diag_indices_from(block)] += ridge
                try:
                    w[rows] = la.cho_solve(la.cho_factor(block, lower=True), target[rows])
                except la.LinAlgError:
                    break
            candidate = np.maximum(w, 0.0)
            square = self._square(target, candidate)
            if square < least:
                best, least = candidate, square
            wrong = np.where(active, w < 0.0, target - self.L @ w > 1e-14 * np.abs(target).max(initial=0.0))
            if not wrong.any():
                break
            active ^= wrong
        return best

    def _square(self, S: Array, z: Array) -> float:
        """``z^T L z`` of ``z`` raised by the least multiple of the ones vector that makes ``L z >= S``."""
        Lz = self.L @ z
        sums = self.L.sum(axis=1)
        missing = S - Lz
        short = missing > 0.0
        if np.any(short & (sums <= 0.0)):
            return np.inf
        delta = float(np.max(missing[short] / sums[short], initial=0.0)) * (1.0 + 1e-15)
        return float(z @ Lz + 2.0 * delta * (sums @ z) + delta * delta * sums.sum())

    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """``1/2 w^T L w``."""
        return 0.5 * cp.quad_form(M, cp.psd_wrap(self.L))

    def latex(self, M: str) -> str:
        """The formula."""
        return rf"\tfrac12 {M}^\top L {M}"

    def text(self, M: str) -> str:
        """The formula in plain text."""
        return f"1/2 {M}^T L {M}"

    def quadratic(self, cone: Cone) -> Array:
        """L itself."""
        return self.L

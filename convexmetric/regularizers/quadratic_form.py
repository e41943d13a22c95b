r"""A quadratic form of the diagonal (paper 2, equation 8).

.. math:: \Omega(w) = \tfrac12 w^\top L w, \qquad
   \Omega^*_K(S) \; \le \; \tfrac12 z^\top L z \quad \text{for any } z \text{ with } L z \ge S

since :math:`\langle S, w \rangle - \tfrac12 w^\top L w \le z^\top L w - \tfrac12 w^\top L w \le \tfrac12 z^\top L z`
for every :math:`w \ge 0`. From a metric near the optimum, z = w + delta 1 is feasible when no entry of L is negative.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike

from convexmetric.cones import Cone
from convexmetric.cones.base import Array, finite_array, real_array
from convexmetric.errors import InputError
from convexmetric.regularizers.base import Regularizer

__all__ = ["QuadraticForm"]


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

    def value(self, M: Array, cone: Cone) -> float:
        """``1/2 w^T L w``."""
        return 0.5 * float(M @ (self.L @ M))

    def bound(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> float:
        """``theta v - 1/2 theta^2 z^T L z`` with ``L z >= S`` from the hint, at the best theta."""
        if G is not None:
            S = S - G
        Lw = self.L @ hint
        sums = self.L.sum(axis=1)
        missing = S - Lw
        short = missing > 0.0
        if np.any(short & (sums <= 0.0)):
            return -np.inf
        delta = float(np.max(missing[short] / sums[short], initial=0.0)) * (1.0 + 1e-15)
        square = float(hint @ Lw + 2.0 * delta * (sums @ hint) + delta * delta * sums.sum())
        if G is None and square > value:
            return 0.5 * value * (value / square) if value > 0.0 else 0.0
        return value - 0.5 * square

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
